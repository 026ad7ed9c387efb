// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Selected lists the objects of a kind in a namespace that a selector matches.
type Selected interface {
	Matching(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error)
}

// SelectedFunc is a function as a Selected.
type SelectedFunc func(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error)

// Matching calls f.
func (f SelectedFunc) Matching(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error) {
	return f(ctx, gvk, namespace, selector)
}

// Matching lists within the timeout.
func (r listing) Matching(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error) {
	return r.labelled(ctx, gvk, namespace, client.MatchingLabelsSelector{Selector: selector})
}

// ownerCount counts the Machines of the Cluster API MachineSet for which a Machine is created. It returns nil if the set counts each Machine that Machine API
// runs for it. For most sets Machine API runs none, and nothing is read from the API server.
//
// If the indexed cache has all mirrors, one of them is read from the API server, and the cache is trusted if this mirror is the cached one: mirrors vanish
// together if their CRD is deleted or a backup is restored, and a cache that was disconnected then may still have them. If a mirror is missing, the set's
// Machines are listed from the API server. The set's controller creates them one after the other, so each review sees the Machine before.
func (l Lookups) ownerCount(ctx context.Context, c policies.Change) (*policies.OwnerCount, error) {
	if l.Owned == nil || l.Selected == nil {
		return nil, nil
	}
	set := Ref{GroupVersionKind: coreKind(policies.SideClusterAPI, "MachineSet"), Namespace: c.Namespace, Name: authority.OwningSet(c.New, c.Side)}
	twin, err := c.Facts.OwnerSetTwin, error(nil)
	if twin == nil {
		twin, err = l.Cached.Get(ctx, Ref{GroupVersionKind: coreKind(policies.SideMachineAPI, "MachineSet"), Namespace: c.TwinNamespace, Name: set.Name})
	}
	if err != nil || !authority.Scales(twin) {
		return nil, err
	}
	roster := authority.Roster{Sets: map[authority.API]*policies.Object{authority.MachineAPI: twin}, Machines: map[authority.API][]*policies.Object{}}
	here := coreKind(policies.SideMachineAPI, "Machine")
	if roster.Machines[authority.MachineAPI], err = l.Owned.Of(ctx, here, c.TwinNamespace, twin.Metadata.UID); err != nil {
		return nil, fmt.Errorf("listing Machines of MachineSet %s: %w", set.Name, err)
	}
	run := roster.RunByMachineAPI()
	if len(run) == 0 {
		return nil, nil
	}
	owner, err := l.live(ctx, set)
	if err != nil || owner == nil || !owns(owner, c.New) {
		return nil, err // the set is gone, and the garbage collector deletes the Machine
	}
	roster.Sets[authority.ClusterAPI] = owner
	if current, err := l.mirrorsCached(ctx, c, roster, run); current || err != nil {
		return nil, err
	}
	machines := coreKind(policies.SideClusterAPI, "Machine")
	if roster.Machines[authority.ClusterAPI], err = l.Selected.Matching(ctx, machines, c.Namespace, authority.SelectorOf(owner)); err != nil {
		return nil, fmt.Errorf("listing Cluster API Machines of MachineSet %s: %w", set.Name, err)
	}
	return roster.Count(c.Name), nil
}

// mirrorsCached reports whether the cache has a mirror that Cluster API's set counts for each Machine that Machine API runs, and whether the API server has the
// first of these mirrors too.
func (l Lookups) mirrorsCached(ctx context.Context, c policies.Change, roster authority.Roster, run []string) (bool, error) {
	machines := coreKind(policies.SideClusterAPI, "Machine")
	cached, err := l.Owned.Of(ctx, machines, c.Namespace, roster.Sets[authority.ClusterAPI].Metadata.UID)
	if err != nil {
		return false, fmt.Errorf("listing Cluster API Machines of MachineSet %s: %w", roster.Sets[authority.ClusterAPI].Metadata.Name, err)
	}
	roster.Machines = map[authority.API][]*policies.Object{authority.MachineAPI: roster.Machines[authority.MachineAPI], authority.ClusterAPI: cached}
	if len(roster.Unmirrored()) > 0 {
		return false, nil
	}
	live, err := l.live(ctx, Ref{GroupVersionKind: machines, Namespace: c.Namespace, Name: run[0]})
	if err != nil {
		return false, err
	}
	return live != nil && slices.ContainsFunc(cached, func(m *policies.Object) bool { return m.Metadata.UID == live.Metadata.UID }), nil
}
