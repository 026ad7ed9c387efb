// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package capimanager_test

import (
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/capimanager"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

// TestLife is one story, since each start costs seconds: the manager works, is killed, and is started again.
func TestLife(t *testing.T) {
	stories.Long(t)
	// The infrastructure's CRDs too: a reference of the old version names a version of them, and conversion looks up which.
	crds, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plane := embedded.ForTest(t, embedded.Options{ControllerManager: true, CRDs: crds, Out: os.Stderr})
	m, err := capimanager.Start(t.Context(), plane, capimanager.Options{Namespace: "openshift-cluster-api", Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.Admin(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("its webhooks have the names of a real installation, and an address of this machine", func(t *testing.T) { isRegistered(t, c) })
	t.Run("a set is converted, defaulted and stored", func(t *testing.T) { converts(t, c) })
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Run("without it, its webhooks fail closed", func(t *testing.T) {
		if err := c.Create(t.Context(), set("v1beta2", "refused")); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("started again, it answers at the same address", func(t *testing.T) {
		if err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), set("v1beta2", "stored")); err != nil {
			t.Error(err)
		}
	})
}

func isRegistered(t *testing.T, c client.Client) {
	for kind, name := range map[string]string{
		"MutatingWebhookConfiguration": "capi-mutating-webhook-configuration", "ValidatingWebhookConfiguration": "capi-validating-webhook-configuration",
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}}
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
			t.Error(err)
			continue
		}
		webhooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		if err != nil || len(webhooks) == 0 {
			t.Fatalf("%s has no webhook (%v)", name, err)
		}
		for _, w := range webhooks {
			if url, _, _ := unstructured.NestedString(w.(map[string]any), "clientConfig", "url"); !strings.HasPrefix(url, "https://127.0.0.1:") {
				t.Errorf("a webhook of %s is called at %q", name, url)
			}
		}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "machines.cluster.x-k8s.io"}, crd); err != nil {
		t.Fatal(err)
	}
	if crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
		t.Errorf("Machines are converted by %s", crd.Spec.Conversion.Strategy)
	}
}

// converts writes the old version and reads the new one. The field's name and type differ between them, so a server that converts
// nothing would lose it.
func converts(t *testing.T, c client.Client) {
	old := set("v1beta1", "converted")
	if err := unstructured.SetNestedField(old.Object, "30s", "spec", "template", "spec", "nodeDrainTimeout"); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	stored := set("v1beta2", "converted")
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	if seconds, _, _ := unstructured.NestedInt64(stored.Object, "spec", "template", "spec", "deletion", "nodeDrainTimeoutSeconds"); seconds != 30 {
		t.Errorf("nodeDrainTimeoutSeconds is %d", seconds)
	}
	if label := stored.GetLabels()["cluster.x-k8s.io/cluster-name"]; label != "lock" {
		t.Errorf("the set's label names the cluster %q", label)
	}
}

func set(version, name string) *unstructured.Unstructured {
	labels := map[string]any{"set": name}
	infra := map[string]any{"kind": "AWSMachineTemplate", "name": "none"}
	if version == "v1beta1" {
		infra["apiVersion"] = "infrastructure.cluster.x-k8s.io/v1beta2"
	} else {
		infra["apiGroup"] = "infrastructure.cluster.x-k8s.io"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/" + version, "kind": "MachineSet",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{
			"clusterName": "lock", "replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"clusterName": "lock", "bootstrap": map[string]any{"dataSecretName": "data"}, "infrastructureRef": infra},
			},
		},
	}}
}
