// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Selected lists the objects of a kind in a namespace that a selector matches. The objects have only their metadata.
type Selected interface {
	Matching(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error)
}

// SelectedFunc is a function as a Selected.
type SelectedFunc func(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error)

// Matching calls f.
func (f SelectedFunc) Matching(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error) {
	return f(ctx, gvk, namespace, selector)
}

// Matching lists within the timeout. Only metadata is read, which takes a third of the time.
func (r listing) Matching(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	defer r.metrics.lookup(r.source, time.Now())
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := r.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	var out []*policies.Object
	for i := range list.Items {
		m := &list.Items[i].ObjectMeta
		out = append(out, &policies.Object{Metadata: policies.Metadata{
			Name: m.Name, Namespace: m.Namespace, UID: m.UID, Labels: m.Labels, OwnerReferences: m.OwnerReferences, DeletionTimestamp: m.DeletionTimestamp,
		}})
	}
	return out, nil
}

// ownerCount counts the Machines of the Cluster API MachineSet for which a Machine is created. It returns nil if Machine API runs none of them. Then nothing is
// read from the API server, and that is so for most sets.
//
// The set and its Machines are read from the API server. The set's controller creates Machines one after the other, and a cache that lags would let several
// through. After the CRD was recreated, both caches lag for seconds.
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
	run, machines := coreKind(policies.SideMachineAPI, "Machine"), coreKind(policies.SideClusterAPI, "Machine")
	if roster.Machines[authority.MachineAPI], err = l.Owned.Of(ctx, run, c.TwinNamespace, twin.Metadata.UID); err != nil {
		return nil, fmt.Errorf("listing Machines of MachineSet %s: %w", set.Name, err)
	}
	if len(roster.RunByMachineAPI()) == 0 {
		return nil, nil
	}
	owner, err := l.live(ctx, set)
	if err != nil || owner == nil || !owns(owner, c.New) {
		return nil, err // the set is gone, and the garbage collector deletes the Machine
	}
	roster.Sets[authority.ClusterAPI] = owner
	if roster.Machines[authority.ClusterAPI], err = l.Selected.Matching(ctx, machines, c.Namespace, authority.SelectorOf(owner)); err != nil {
		return nil, fmt.Errorf("listing Cluster API Machines of MachineSet %s: %w", set.Name, err)
	}
	return roster.Count(c.Name), nil
}
