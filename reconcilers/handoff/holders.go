// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// indexHolders adds an index to the cache by which Machines are found by their instance. It must run before the cache is started.
func (r *reconciler) indexHolders(mgr ctrl.Manager) error {
	if !r.kind.InfraActs() {
		return nil
	}
	for _, api := range apis() {
		if err := facts.IndexByInstance(context.Background(), mgr.GetFieldIndexer(), r.kind.GVKOf(api)); err != nil {
			return err
		}
	}
	r.indexed = true
	return nil
}

// gatherHolders finds other Machines of the same instance. It reads from the cache, which is recent enough, because during a move only controllers may write an
// ID.
func (r *reconciler) gatherHolders(ctx context.Context, p *pair) error {
	id := authority.InstanceKeyOf(p.objects.MachineAPI)
	if id == "" || !p.state().HoldersMatter() {
		return nil
	}
	var which []client.ListOption
	if r.indexed {
		which = append(which, facts.OfInstance(id))
	}
	var machines []*policies.Object
	namespaces, _ := r.pairs.Of(p.machineAPI.GetNamespace())
	for api, namespace := range map[authority.API]string{authority.MachineAPI: namespaces.MachineAPI, authority.ClusterAPI: namespaces.ClusterAPI} {
		found, err := list(ctx, r.cache, r.kind.GVKOf(api), namespace, which...)
		if err != nil {
			return fmt.Errorf("listing the Machines of the instance %s: %w", id, err)
		}
		machines = append(machines, found...)
	}
	machines = slices.DeleteFunc(machines, func(m *policies.Object) bool { return authority.InstanceKeyOf(m) != id })
	p.objects.Holders = authority.Holders(machines, p.machineAPI.GetName(), "")
	return r.gatherAlsoKept(ctx, p, namespaces.ClusterAPI, id, which...)
}

// gatherAlsoKept finds objects that the provider keeps for the same instance and that do not belong to the pair. It lists them in the version in which the
// pair's own object was read.
func (r *reconciler) gatherAlsoKept(ctx context.Context, p *pair, namespace, id string, which ...client.ListOption) error {
	if p.keptKind.Empty() {
		return nil
	}
	kept, err := list(ctx, r.cache, p.keptKind, namespace, which...)
	if err != nil {
		return fmt.Errorf("listing what the provider keeps for the instance %s: %w", id, err)
	}
	kept = slices.DeleteFunc(kept, func(o *policies.Object) bool { return authority.InstanceKeyOf(o) != id })
	_, infra := p.infraRef()
	p.objects.AlsoKept = authority.AlsoKept(kept, p.machineAPI.GetName(), infra)
	return nil
}
