// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package private

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Four real controllers, core, bootstrap, control plane and infrastructure, live a cluster's whole life through the proxy: its Machines get
// infrastructure and bootstrap data, become Nodes of a cluster that is in memory, are scaled, replaced and deleted, those of the control
// plane, too.
func TestAWholeLifeInMemory(t *testing.T) {
	if !*complete {
		t.Skip("three providers are built for it: make proof WHAT=private plays it")
	}
	kinds := map[string]string{ // each converter has one at least
		"machinesets": "", "machines": "", "devclusters": "infrastructure.", "devmachines": "infrastructure.", "kubeadmconfigs": "bootstrap.", "kubeadmcontrolplanes": "controlplane.",
	}
	s := begin(t, Options{Providers: InMemory()})
	s.apply("inmemory.yaml")
	s.wait("a control plane and two workers that are Nodes", func() bool { return s.running("v1.36.3") == 3 })
	s.patch(`{"spec":{"replicas":3}}`)
	s.master(`{"spec":{"replicas":3}}`)
	s.wait("three of each", func() bool { return s.running("v1.36.3") == 6 })
	s.checkStored(30, "clusters", "machines", "machinesets", "machinedeployments", "kubeadmcontrolplanes", "kubeadmconfigs", "kubeadmconfigtemplates",
		"devclusters", "devmachines",
		"devmachinetemplates", "secrets", "events")
	s.checkConverted()
	for plural, prefix := range kinds {
		older := resource(plural, prefix)
		older.Version = "v1beta1"
		l, err := s.client.Resource(older).Namespace(Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(l.Items) == 0 || l.Items[0].GetAPIVersion() != older.GroupVersion().String() {
			t.Error(older, l, err)
		}
	}
	s.patch(`{"spec":{"template":{"spec":{"version":"v1.36.4"}}}}`)
	s.master(`{"spec":{"version":"v1.36.4"}}`)
	s.wait("a newer version of each", func() bool { return s.running("v1.36.4") == 6 && len(s.list("machines", "").Items) == 6 })
	s.patch(`{"spec":{"replicas":1}}`)
	s.wait("one worker", func() bool { return len(s.list("machines", "").Items) == 4 })
	s.checkStored(20)
	if err := s.at("clusters", "").Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.wait("the Cluster's deletion, and that of everything that it owns", func() bool {
		_, err := s.at("clusters", "").Get(t.Context(), "c", metav1.GetOptions{})
		left := 0
		for plural, prefix := range kinds {
			left += len(s.list(plural, prefix).Items)
		}
		return apierrors.IsNotFound(err) && left == 0
	})
	peakOf(t, s.stage.Plane.PID(Proxy))
}

func (s *story) master(patch string) {
	s.t.Helper()
	if _, err := s.at("kubeadmcontrolplanes", "controlplane.").Patch(s.t.Context(), "masters", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// running counts the Machines of a version that are Nodes.
func (s *story) running(version string) (n int) {
	for _, m := range s.list("machines", "").Items {
		phase, _, _ := unstructured.NestedString(m.Object, "status", "phase")
		has, _, _ := unstructured.NestedString(m.Object, "spec", "version")
		if phase == "Running" && has == version {
			n++
		}
	}
	return n
}
