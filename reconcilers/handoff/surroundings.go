// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies/authority"
)

// surrounding is what an object lives in, and whether the object stays for a while without it.
type surrounding struct {
	facts.Surrounding
	outlived bool
}

// gatherSurroundings reads from the API server whether what the objects of the API that is to be authoritative live in is being deleted. They are then about
// to be deleted too, though nobody has asked for that, and their controllers would terminate the instance. deserted: also whether it is gone, and the twin with
// it; elsewhere a twin that is missing is what Synchronized reports.
func (r *reconciler) gatherSurroundings(ctx context.Context, p *pair, deserted bool) error {
	namespaces, _ := r.pairs.Of(p.machineAPI.GetNamespace())
	kinds := map[string]schema.GroupVersionKind{authority.Namespace: facts.NamespaceKind, authority.Definition: facts.DefinitionKind,
		authority.Cluster: facts.ClusterKind}
	to := p.state().Requested
	var parts []surrounding
	for _, part := range r.kind.Surroundings(to, namespaces, p.objects.MachineAPI, p.objects.ClusterAPI) {
		parts = append(parts, surrounding{facts.Surrounding{GVK: kinds[part.Kind], Namespace: part.Namespace, Name: part.Name}, part.Outlived})
	}
	if to == authority.ClusterAPI {
		parts = append(parts, r.definitions(p.infra)...)
	}
	for _, part := range parts {
		why, gone, err := part.Leaving(ctx, r.live)
		if err != nil {
			return err
		}
		if why != "" && (deserted || !gone || part.outlived) {
			p.objects.Leaving = why
			return nil
		}
	}
	return nil
}

// definitions are those of a provider's machine, and of what the provider keeps beside it for the instance.
func (r *reconciler) definitions(infra *unstructured.Unstructured) []surrounding {
	if infra == nil {
		return nil
	}
	var out []surrounding
	for _, kind := range []string{infra.GetKind(), authority.InfraInstanceKind(infra.GetKind())} {
		if kind == "" {
			continue
		}
		if mapping, err := r.mapper.RESTMapping(schema.GroupKind{Group: infraGroup, Kind: kind}); err == nil {
			out = append(out, surrounding{Surrounding: facts.Surrounding{GVK: facts.DefinitionKind, Name: mapping.Resource.GroupResource().String()}})
		}
	}
	return out
}
