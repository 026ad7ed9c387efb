// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// cacheOptions returns options with which a cache watches each API's objects only in that API's namespaces. Poundlock's roles allow it to read no more, and a
// watch that is forbidden keeps the manager from ever being ready.
func cacheOptions(pairs authority.Pairs) cache.Options {
	machineAPI, clusterAPI := map[string]cache.Config{}, map[string]cache.Config{}
	for _, p := range pairs {
		machineAPI[p.MachineAPI], clusterAPI[p.ClusterAPI] = cache.Config{}, cache.Config{}
	}
	o := cache.Options{DefaultNamespaces: clusterAPI, DefaultTransform: newSharing().share, ByObject: map[client.Object]cache.ByObject{}}
	kinds := []schema.GroupVersionKind{machinev1.GroupVersion.WithKind(controlplane.Kind)}
	for _, k := range authority.Kinds() {
		kinds = append(kinds, k.MachineAPIGVK())
	}
	for _, kind := range kinds {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		o.ByObject[object] = cache.ByObject{Namespaces: machineAPI}
	}
	operator := &unstructured.Unstructured{}
	operator.SetGroupVersionKind(configv1.GroupVersion.WithKind("ClusterOperator"))
	o.ByObject[operator] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", controlplane.OperatorName)}
	o.ByObject[&corev1.Node{}] = cache.ByObject{Transform: leanNode}
	return o
}

// leanNode returns a Node with only the fields that Poundlock reads. Most of the rest is a list of images.
func leanNode(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil // the tombstone of a deletion that was missed
	}
	lean := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion,
			CreationTimestamp: n.CreationTimestamp, DeletionTimestamp: n.DeletionTimestamp,
		},
		Spec:   corev1.NodeSpec{ProviderID: n.Spec.ProviderID},
		Status: corev1.NodeStatus{Conditions: n.Status.Conditions},
	}
	for _, role := range controlplane.Roles() {
		if value, ok := n.Labels[role]; ok {
			metav1.SetMetaDataLabel(&lean.ObjectMeta, role, value)
		}
	}
	return lean, nil
}
