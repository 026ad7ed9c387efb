// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// cacheOptions has each side's objects watched in that side's namespaces alone: Poundlock's roles let it read no more, and a
// watch that is forbidden keeps the manager from ever being ready.
func cacheOptions(pairs authority.Pairs) cache.Options {
	machineAPI, clusterAPI := map[string]cache.Config{}, map[string]cache.Config{}
	for _, p := range pairs {
		machineAPI[p.MachineAPI], clusterAPI[p.ClusterAPI] = cache.Config{}, cache.Config{}
	}
	o := cache.Options{DefaultNamespaces: clusterAPI, ByObject: map[client.Object]cache.ByObject{}}
	for _, k := range authority.Kinds() {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(k.MachineAPIGVK())
		o.ByObject[object] = cache.ByObject{Namespaces: machineAPI}
	}
	return o
}
