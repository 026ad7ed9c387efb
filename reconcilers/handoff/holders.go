// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// instanceIndex finds the Machines of a cache by authority.InstanceKey of their ID.
const instanceIndex = "handoff.instance"

// indexHolders has a cache find Machines by their instance, before it is started.
func (r *reconciler) indexHolders(mgr ctrl.Manager) error {
	if !r.kind.InfraActs() {
		return nil
	}
	for _, api := range apis() {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(r.kind.GVKOf(api))
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), o, instanceIndex, instanceOf); err != nil {
			return fmt.Errorf("indexing %s by instance: %w", r.kind.GVKOf(api), err)
		}
	}
	r.indexed = true
	return nil
}

func instanceOf(o client.Object) []string {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || machineID(u) == "" {
		return nil
	}
	return []string{authority.InstanceKey(machineID(u))}
}

// gatherHolders finds other Machines of the same instance. The cache will do: while a move is under way nobody but controllers may write an ID.
func (r *reconciler) gatherHolders(ctx context.Context, p *pair) error {
	id := authority.InstanceKeyOf(p.objects.MachineAPI)
	if id == "" || !p.state().HoldersMatter() {
		return nil
	}
	var which []client.ListOption
	if r.indexed {
		which = append(which, client.MatchingFields{instanceIndex: id})
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
	return nil
}
