// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/policies/authority"
)

// why returns what pauses an object of Cluster API, "" if nothing does: the annotation with any value, or its Cluster.
func why(cluster *clusterv1.Cluster, o client.Object, kind string) string {
	var causes []string
	if cluster.Spec.Paused != nil && *cluster.Spec.Paused {
		causes = append(causes, "Cluster spec.paused is set to true")
	}
	if _, ok := o.GetAnnotations()[authority.PausedAnnotation]; ok {
		causes = append(causes, kind+" has the cluster.x-k8s.io/paused annotation")
	}
	return strings.Join(causes, ", ")
}

func clusterOf(ctx context.Context, c client.Reader, namespace, name string) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	return cluster, c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster)
}

// everyIn returns a function that maps a changed object to all objects of a controller's kind in its namespace. A Cluster that is paused concerns all of them.
func everyIn(c client.Reader, list func() client.ObjectList) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		all := list()
		if err := c.List(ctx, all, client.InNamespace(o.GetNamespace())); err != nil {
			return nil
		}
		items, _ := meta.ExtractList(all)
		var keys []reconcile.Request
		for _, item := range items {
			keys = append(keys, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
		}
		return keys
	}
}
