// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies/authority"
)

// gatherSurroundings reads from the API server whether the surroundings (namespace, CRDs, Cluster) of the next authoritative API's objects are being deleted.
// If they are, those objects are deleted too, although nobody has asked for that, and their controllers would terminate the instance. If deserted is true, it
// also checks whether the surroundings are gone, and the twin with them. If deserted is false, the condition Synchronized reports a missing twin.
func (r *reconciler) gatherSurroundings(ctx context.Context, p *pair, deserted bool) error {
	namespaces, _ := r.pairs.Of(p.machineAPI.GetNamespace())
	to := p.state().Requested
	parts := r.kind.Surroundings(to, namespaces, p.objects.MachineAPI, p.objects.ClusterAPI)
	if to == authority.ClusterAPI {
		parts = append(parts, r.definitions(p.infra)...)
	}
	why, err := facts.FirstLeaving(ctx, r.live, parts, func(s authority.Surrounding, gone bool) bool { return deserted || !gone || s.Outlived })
	if why != "" {
		p.objects.Leaving = why
	}
	return err
}

// gatherCluster reads the Cluster of the Cluster API object.
func (r *reconciler) gatherCluster(ctx context.Context, from client.Reader, p *pair) (err error) {
	if name := authority.ClusterOf(p.objects.ClusterAPI); name != "" {
		_, p.objects.Cluster, err = get(ctx, from, facts.ClusterKind, p.core.GetNamespace(), name)
	}
	return err
}

// definitions returns the CRDs of a provider's machine, and of the object that the provider keeps for the instance in addition.
func (r *reconciler) definitions(infra *unstructured.Unstructured) []authority.Surrounding {
	if infra == nil {
		return nil
	}
	var out []authority.Surrounding
	for _, kind := range []string{infra.GetKind(), authority.InfraInstanceKind(infra.GetKind())} {
		if kind == "" {
			continue
		}
		if mapping, err := r.mapper.RESTMapping(schema.GroupKind{Group: infraGroup, Kind: kind}); err == nil {
			out = append(out, authority.Surrounding{Kind: authority.Definition, Name: mapping.Resource.GroupResource().String()})
		}
	}
	return out
}
