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

// clusterKind is the Cluster's, which Cluster API's objects belong to.
var clusterKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}

// gatherSurroundings reads from the API server whether what the objects of the API that is to be authoritative live in is being deleted. They are then about
// to be deleted too, though nobody has asked for that, and their controllers would terminate the instance. deserted: also whether it is gone, and the twin with
// it; elsewhere a twin that is missing is what Synchronized reports.
func (r *reconciler) gatherSurroundings(ctx context.Context, p *pair, deserted bool) error {
	namespaces, _ := r.pairs.Of(p.machineAPI.GetNamespace())
	namespace, definition := namespaces.MachineAPI, r.kind.Resource+"."+r.kind.MachineAPI.Group
	toCluster := p.state().Requested == authority.ClusterAPI
	if toCluster {
		namespace, definition = namespaces.ClusterAPI, r.kind.Resource+"."+r.kind.ClusterAPI.Group
	}
	parts := []facts.Surrounding{{GVK: facts.NamespaceKind, Name: namespace}, {GVK: facts.DefinitionKind, Name: definition}}
	if toCluster {
		parts = append(parts, r.ofCluster(p)...)
	}
	for _, part := range parts {
		why, gone, err := part.Leaving(ctx, r.live)
		if err != nil {
			return err
		}
		if why != "" && (deserted || !gone) {
			p.objects.Leaving = why
			return nil
		}
	}
	return nil
}

// ofCluster are the Cluster and the definition of the provider's objects.
func (r *reconciler) ofCluster(p *pair) []facts.Surrounding {
	var out []facts.Surrounding
	if p.core != nil {
		if cluster, _, _ := unstructured.NestedString(p.core.Object, "spec", "clusterName"); cluster != "" {
			out = append(out, facts.Surrounding{GVK: clusterKind, Namespace: p.core.GetNamespace(), Name: cluster})
		}
	}
	if p.infra != nil {
		kind := p.infra.GroupVersionKind()
		if mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
			out = append(out, facts.Surrounding{GVK: facts.DefinitionKind, Name: mapping.Resource.GroupResource().String()})
		}
	}
	return out
}
