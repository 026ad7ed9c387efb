// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Owned lists the objects of a kind that have a given controller (owner), by the UID of that controller, or those without a controller (facts.Nobody). The cost
// does not grow with the size of the fleet.
type Owned interface {
	Of(ctx context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error)
}

// OwnedFunc is a function as an Owned.
type OwnedFunc func(ctx context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error)

// Of calls f.
func (f OwnedFunc) Of(ctx context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
	return f(ctx, gvk, namespace, owner)
}

// indexOwned lists through a cache's index by owner.
type indexOwned struct {
	client.Reader
	timeout time.Duration
	metrics *metrics
}

// Of lists within the timeout.
func (r indexOwned) Of(ctx context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	defer r.metrics.lookup("cache", time.Now())
	return objectsOf(ctx, r.Reader, gvk, namespace, facts.OwnedBy(owner))
}

// uncounted returns the Machines that only one of the two MachineSets of the pair under review counts. It explains as many of them as the message names.
func (l Lookups) uncounted(ctx context.Context, c policies.Change) ([]policies.Uncounted, error) {
	kind, _ := authority.KindNamed(c.Kind)
	child, ok := kind.Children()
	if !ok || l.Owned == nil || c.Side != policies.SideMachineAPI || c.Facts.Twin == nil {
		return nil, nil
	}
	set := c.Old // until the request is stored, the set's controller counts by the stored selector
	if c.Subresource != "" {
		set = c.Facts.Stored
	}
	roster := authority.Roster{
		Sets:     map[authority.API]*policies.Object{authority.MachineAPI: set, authority.ClusterAPI: c.Facts.Twin},
		Machines: map[authority.API][]*policies.Object{}, Definitions: map[authority.API]authority.Presence{},
	}
	namespaces := map[authority.API]string{authority.MachineAPI: c.Namespace, authority.ClusterAPI: c.TwinNamespace}
	for api, set := range roster.Sets {
		for _, owner := range []types.UID{set.Metadata.UID, facts.Nobody} { // a set also adopts a Machine without a controller
			machines, err := l.Owned.Of(ctx, child.GVKOf(api), namespaces[api], owner)
			if err != nil {
				return nil, err
			}
			roster.Machines[api] = append(roster.Machines[api], machines...)
		}
	}
	out := roster.Uncounted()
	for i := range min(len(out), authority.UncountedNamed) {
		machine := map[authority.API]*policies.Object{}
		for api := range roster.Sets {
			var err error
			if machine[api], err = l.Cached.Get(ctx, Ref{GroupVersionKind: child.GVKOf(api), Namespace: namespaces[api], Name: out[i].Name}); err != nil {
				return nil, err
			}
		}
		if err := l.definitions(ctx, child, machine, roster); err != nil {
			return nil, err
		}
		if roster.Explain(&out[i], machine); !out[i].Undefined && !out[i].Unreflected {
			out[i].Why += l.whyNotMirrored(ctx, c, child, machine)
		}
	}
	return out, nil
}

// definitions reads the CRD of the Machines' kind in each API in which a Machine has no object, and stores in the roster whether the CRD exists. It reads each
// CRD only once.
func (l Lookups) definitions(ctx context.Context, child authority.Kind, machine map[authority.API]*policies.Object, roster authority.Roster) error {
	for api := range roster.Sets {
		if _, read := roster.Definitions[api]; read || machine[api] != nil || l.Live == nil {
			continue
		}
		o, err := l.live(ctx, Ref{GroupVersionKind: facts.DefinitionKind, Name: child.DefinitionIn(api)})
		if err != nil {
			return err
		}
		roster.Definitions[api] = authority.PresenceOf(o)
	}
	return nil
}

// heldUp adds to c the names of Machines of the Cluster API MachineSet or MachineDeployment under review: the Machines whose provider does not have the
// instance's ID yet, those that hooks of others delay, and those with a Node. If surroundings (a namespace, CRD or Cluster) are under review, it adds only the
// first ones.
func (l Lookups) heldUp(ctx context.Context, c *policies.Change) (err error) {
	if c.Side == policies.Surroundings {
		c.Facts.UnknownInstances, err = l.unknownIn(ctx, *c)
		return err
	}
	if l.Owned == nil || c.Old == nil {
		return nil
	}
	machines, err := l.machinesBeneath(ctx, *c)
	if err != nil {
		return err
	}
	var unknown, hooked, with []string
	for _, m := range machines {
		if authority.WithNode(m) {
			with = append(with, m.Metadata.Name)
		}
		if !authority.HasHook(m) {
			continue // most Machines have none, and for these no counterpart has to be read
		}
		twin, err := l.Cached.Get(ctx, Ref{GroupVersionKind: coreKind(policies.SideMachineAPI, "Machine"), Namespace: c.TwinNamespace, Name: m.Metadata.Name})
		if err != nil {
			return err
		}
		if authority.UnknownInstance(m, twin) {
			unknown = append(unknown, m.Metadata.Name)
		}
		if authority.Hooked(m, twin) {
			hooked = append(hooked, m.Metadata.Name)
		}
	}
	c.Facts.UnknownInstances, c.Facts.Hooked = slices.Sorted(slices.Values(unknown)), slices.Sorted(slices.Values(hooked))
	c.Facts.WithNodes = slices.Sorted(slices.Values(with))
	return nil
}

// machinesBeneath lists the Machines of a Cluster API MachineSet, or of all MachineSets of a MachineDeployment.
func (l Lookups) machinesBeneath(ctx context.Context, c policies.Change) ([]*policies.Object, error) {
	sets := []*policies.Object{c.Old}
	if c.Kind == authority.MachineDeployment {
		var err error
		if sets, err = l.Owned.Of(ctx, coreKind(policies.SideClusterAPI, "MachineSet"), c.Namespace, c.Old.Metadata.UID); err != nil {
			return nil, err
		}
	}
	var out []*policies.Object
	for _, set := range sets {
		machines, err := l.Owned.Of(ctx, coreKind(policies.SideClusterAPI, "Machine"), c.Namespace, set.Metadata.UID)
		if err != nil {
			return nil, err
		}
		out = append(out, machines...)
	}
	return out, nil
}

// unknownIn returns the names of the Machines whose provider does not have the instance's ID yet. It looks in the namespace under review, in the namespace of a
// Cluster or infrastructure cluster, or for a CRD in all namespaces. A Machine whose own deletion waits for the hook counts too.
func (l Lookups) unknownIn(ctx context.Context, c policies.Change) ([]string, error) {
	if l.Sets == nil {
		return nil, nil
	}
	switch c.Kind {
	case authority.Namespace:
		i := slices.IndexFunc(l.Pairs, func(p authority.Pair) bool { return p.ClusterAPI == c.Name })
		if i < 0 {
			return nil, nil // this is a Machine API namespace, and Machines in it have no hook
		}
		return l.unknownOf(ctx, l.Pairs[i])
	case authority.Definition:
		var out []string
		for _, pair := range l.Pairs {
			unknown, err := l.unknownOf(ctx, pair)
			if err != nil {
				return nil, err
			}
			out = append(out, unknown...)
		}
		return out, nil
	}
	return l.unknownOf(ctx, authority.Pair{MachineAPI: c.TwinNamespace, ClusterAPI: c.Namespace})
}

func (l Lookups) unknownOf(ctx context.Context, pair authority.Pair) ([]string, error) {
	machines, err := l.Sets.All(ctx, coreKind(policies.SideClusterAPI, "Machine"), pair.ClusterAPI)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range machines {
		if !m.HasAnnotation(authority.InstanceHookAnnotation) {
			continue
		}
		twin, err := l.Cached.Get(ctx, Ref{GroupVersionKind: coreKind(policies.SideMachineAPI, "Machine"), Namespace: pair.MachineAPI, Name: m.Metadata.Name})
		if err != nil {
			return nil, err
		}
		if authority.Read(twin).Current != authority.MachineAPI {
			out = append(out, m.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// whyNotMirrored returns the first field that prevents the mirror of a Cluster API Machine, as the end of a sentence; "" if it finds none. A Machine without a
// mirror has no Machine API object with a condition that could report the field.
func (l Lookups) whyNotMirrored(ctx context.Context, c policies.Change, child authority.Kind, machine map[authority.API]*policies.Object) string {
	if machine[authority.MachineAPI] != nil || machine[authority.ClusterAPI] == nil || l.Converter == nil {
		return ""
	}
	mirror, err := policies.ParseObject([]byte(`{"status":{"authoritativeAPI":"ClusterAPI"}}`))
	if err != nil {
		return ""
	}
	try := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: child.Name, Namespace: c.Namespace, TwinNamespace: c.TwinNamespace},
		Operation: admissionv1.Update, Old: mirror, New: mirror, Facts: policies.Facts{Twin: machine[authority.ClusterAPI]}}
	errs, err := l.Converter.Unconvertible(ctx, try)
	if err != nil || len(errs) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", errs[0].Field, errs[0].Detail)
}
