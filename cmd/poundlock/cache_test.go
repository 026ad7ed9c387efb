// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// TestNodesInTheCache: the cache keeps what the controllers read of a Node, and leaves out the rest. Health checks find a Node that registered again under
// another name by its spec.providerID.
func TestNodesInTheCache(t *testing.T) {
	role := controlplane.Roles()[0]
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", Labels: map[string]string{role: "", "other": "x"}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-1", PodCIDR: "10.0.0.0/24"},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}, Images: []corev1.ContainerImage{{SizeBytes: 1}},
		},
	}
	var transform cache.TransformFunc
	for o, by := range cacheOptions(authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}}).ByObject {
		if _, ok := o.(*corev1.Node); ok {
			transform = by.Transform
		}
	}
	kept, err := transform(node)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := kept.(*corev1.Node)
	if !ok {
		t.Fatalf("it is a %T", kept)
	}
	if got.Name != "n" || got.UID != "u" || got.Spec.ProviderID != node.Spec.ProviderID || len(got.Status.Conditions) != 1 {
		t.Errorf("kept %+v", got)
	}
	if _, ok := got.Labels[role]; !ok || len(got.Labels) != 1 || got.Spec.PodCIDR != "" || got.Status.Images != nil {
		t.Errorf("kept %+v", got)
	}
}
