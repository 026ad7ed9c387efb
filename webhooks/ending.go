// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// ending adds to c the names of the Machines that are deleted, with their instances, together with the object under review. For a set these are the Machines
// that the set's API runs. For surroundings (namespaces, CRDs, Clusters) they are the Machines of the control plane. Then it also adds the number of the
// control plane's Machines, the names of those that have lost their instance, and the names of all Machines whose move away has not ended yet. The cost grows
// with the size of the set, or with the number of Machines.
func (l Lookups) ending(ctx context.Context, c *policies.Change) (err error) {
	if l.Owned == nil || c.Old == nil || c.Kind == "Machine" && l.Masters == nil {
		return nil
	}
	f := &c.Facts
	if c.Kind == "Machine" {
		f.Ending = []string{c.Name}
		f.ControlPlaneSize, err = l.staying(ctx, *c)
		return err
	}
	if c.Side != policies.Surroundings {
		f.Ending, err = l.endingOfSet(ctx, *c)
		return err
	}
	of := authority.Ends(*c)
	from, goes := authority.EndsMoves(*c)
	if from == authority.Unset {
		return nil
	}
	var names, moving []string
	var all []*policies.Object
	for _, pair := range l.Pairs {
		if c.Kind == authority.Namespace && c.Name != pair.MachineAPI && c.Name != pair.ClusterAPI || c.Kind == authority.Cluster && c.Namespace != pair.ClusterAPI {
			continue
		}
		if of != authority.Unset {
			machines, err := l.controlPlaneMachines(ctx, pair.MachineAPI)
			if err != nil {
				return err
			}
			names, all = append(names, authority.Ending(of, machines)...), append(all, machines...)
		}
		if l.Sets != nil {
			machines, err := l.Sets.All(ctx, coreKind(policies.SideMachineAPI, "Machine"), pair.MachineAPI)
			if err != nil {
				return err
			}
			going := slices.DeleteFunc(slices.Clone(machines), func(m *policies.Object) bool { return !goes(m) })
			moving = append(moving, authority.MovingFrom(from, going)...)
		}
	}
	f.Ending, f.ControlPlaneSize, f.ControlPlaneLost, f.Moving = names, len(all), authority.Lost(all), moving
	return nil
}

// staying returns the number of control plane Machines that are being deleted in neither API. Cluster API's controller counts in the same way. The Machine
// under review counts too. It reads from the API server, because deletions follow one another quickly.
func (l Lookups) staying(ctx context.Context, c policies.Change) (int, error) {
	mapi, capi := c.Namespace, c.TwinNamespace
	if c.Side == policies.SideClusterAPI {
		mapi, capi = capi, mapi
	}
	asked, err := l.Masters.All(ctx, coreKind(policies.SideMachineAPI, "Machine"), mapi)
	if err != nil {
		return 0, err
	}
	counted, err := l.Masters.All(ctx, coreKind(policies.SideClusterAPI, "Machine"), capi)
	if err != nil {
		return 0, err
	}
	stay := 1
	// A deletion of the Machine API object deletes the Cluster API Machine only if the Machine API object has a controller. Without a controller, only the
	// mirroring ends.
	for _, m := range counted {
		ends := m.Deleting() || slices.ContainsFunc(asked, func(o *policies.Object) bool {
			return o.Metadata.Name == m.Metadata.Name && o.Deleting() &&
				metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: o.Metadata.OwnerReferences}) != nil
		})
		if m.Metadata.Name != c.Name && !ends {
			stay++
		}
	}
	return stay, nil
}

// masters adds to c the control plane's Machines in Cluster API, for the deletion of an infrastructure machine whose Machine may be one of them. If hooks delay
// the deletion of that Machine, it also reads whether its namespace, CRD or Cluster is being deleted. The cache suffices to find that a Machine does not belong
// to the control plane, because that does not change. The list comes from the API server, because the Machine's deletion and its hooks may be newer than the
// cache.
func (l Lookups) masters(ctx context.Context, c *policies.Change) error {
	if l.Masters == nil || c.Facts.Twin == nil {
		return nil
	}
	kind, _ := authority.KindNamed("Machine")
	ref := Ref{GroupVersionKind: coreKind(policies.SideClusterAPI, kind.Name), Namespace: c.Namespace, Name: c.Facts.Twin.Metadata.Name}
	machine, err := l.Cached.Get(ctx, ref)
	if err != nil || machine != nil && !authority.IsMaster(machine) {
		return err
	}
	if c.Facts.Masters, err = l.Masters.All(ctx, coreKind(policies.SideClusterAPI, kind.Name), c.Namespace); err != nil {
		return err
	}
	i := slices.IndexFunc(c.Facts.Masters, func(m *policies.Object) bool { return m.Metadata.Name == c.Facts.Twin.Metadata.Name })
	if i < 0 || !authority.HeldByHooks(c.Facts.Masters[i]) {
		return nil
	}
	for _, part := range kind.Surroundings(authority.ClusterAPI, pairOf(*c), c.Facts.Twin, c.Facts.Masters[i]) {
		if _, c.Facts.Leaving, err = l.surrounding(ctx, part); err != nil || c.Facts.Leaving != "" {
			return err
		}
	}
	return nil
}

// undrained reports whether Cluster API finds no Machine of the control plane. Usually the cache has one, among the Machines without a controller. The API
// server is read only if the cache has none.
func (l Lookups) undrained(ctx context.Context, c policies.Change) (bool, error) {
	kind, namespace := coreKind(policies.SideClusterAPI, "Machine"), c.Namespace
	if c.Side == policies.SideMachineAPI {
		namespace = c.TwinNamespace
	}
	if l.Owned != nil {
		if cached, err := l.Owned.Of(ctx, kind, namespace, facts.Nobody); err == nil && authority.CountsMasters(cached) {
			return false, nil
		}
	}
	masters, err := l.Masters.All(ctx, kind, namespace)
	return err == nil && !authority.CountsMasters(masters), err
}

// controlPlaneMachines returns the Machine API Machines of the control plane that are not being deleted. It looks only at Machines without a controller and at
// those of the ControlPlaneMachineSet, because no MachineSet owns a control plane Machine.
func (l Lookups) controlPlaneMachines(ctx context.Context, namespace string) ([]*policies.Object, error) {
	owners := []types.UID{facts.Nobody}
	set, err := l.Cached.Get(ctx, Ref{GroupVersionKind: machinev1.GroupVersion.WithKind(controlplane.Kind), Namespace: namespace, Name: controlplane.Name})
	if err != nil {
		return nil, err
	}
	if set != nil {
		owners = append(owners, set.Metadata.UID)
	}
	var out []*policies.Object
	for _, owner := range owners {
		machines, err := l.Owned.Of(ctx, coreKind(policies.SideMachineAPI, "Machine"), namespace, owner)
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(machines, func(m *policies.Object) bool { return m.Deleting() || !controlplane.OfControlPlane(m.Metadata.Labels) })...)
	}
	return out, nil
}

// endingOfSet returns the names of those Machines of a set that the API in which the set is deleted also runs.
func (l Lookups) endingOfSet(ctx context.Context, c policies.Change) ([]string, error) {
	kind, _ := authority.KindNamed(c.Kind)
	child, ok := kind.Children()
	if !ok {
		return nil, nil
	}
	machines, err := l.Owned.Of(ctx, coreKind(c.Side, child.Name), c.Namespace, c.Old.Metadata.UID)
	if err != nil {
		return nil, err
	}
	if c.Side == policies.SideMachineAPI {
		return authority.Ending(authority.MachineAPI, machines), nil
	}
	var out []string
	for _, m := range machines {
		twin, err := l.Cached.Get(ctx, Ref{GroupVersionKind: child.MachineAPIGVK(), Namespace: c.TwinNamespace, Name: m.Metadata.Name})
		if err != nil {
			return nil, err
		}
		if twin == nil || authority.Authoritative(authority.Read(twin)) == authority.ClusterAPI {
			out = append(out, m.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}
