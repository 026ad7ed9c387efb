// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
)

// A pass that ends before the rewrite of objects still knows that some are stored in an older version: Upgradeable must not become True between two pages.
func TestAPassThatEndsEarlyKnowsOldStorage(t *testing.T) {
	r, err := newReconciler(&rest.Config{Host: "http://127.0.0.1:1"}, Options{}, nil, meters{}) // nobody answers
	if err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "things.example.com"},
		"spec":     map[string]any{"versions": []any{map[string]any{"name": "v1"}, map[string]any{"name": "v2", "storage": true}}},
		"status":   map[string]any{"storedVersions": []any{"v1", "v2"}},
	}}
	definition.SetGroupVersionKind(definitions)
	unread := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a"}}}
	k := &walk{world: r.look(), record: &record{}, content: content{Provider: installation.Provider{Objects: []installation.Object{
		{Unstructured: definition, Stage: bundle.Definitions}, {Unstructured: unread, Stage: bundle.Services},
	}}}}
	k.live[installation.KeyOf(definition)] = definition
	o := k.run(t.Context())
	if diff := cmp.Diff([]string{"things.example.com"}, o.Stored); o.Err == nil || diff != "" || o.StoredUnseen {
		t.Errorf("%s%v, %v", diff, o.Err, o.StoredUnseen)
	}
	delete(k.live, installation.KeyOf(definition))
	if o := k.run(t.Context()); !o.StoredUnseen {
		t.Error("nobody has read the definition")
	}
}

// What an autoscaler sets is no difference: the installer leaves it.
func TestALookLeavesReplicasOfAnAutoscaler(t *testing.T) {
	deployment := func(replicas int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"replicas": replicas, "paused": false},
		}}
	}
	live := deployment(3)
	live.SetLabels(map[string]string{installation.InstalledByLabel: installation.Manager})
	own := metav1.ManagedFieldsEntry{Manager: installation.Manager, Operation: metav1.ManagedFieldsOperationApply}
	for scaledBy, want := range map[string][]string{"kube-controller-manager": nil, "kubectl": {"spec.replicas is 3, and the installer would set 1"}} {
		live.SetManagedFields([]metav1.ManagedFieldsEntry{own, {Manager: scaledBy, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"}})
		w := (&reconciler{}).look()
		w.live[installation.KeyOf(live)] = live
		v, err := w.view(t.Context(), &record{},
			content{Provider: installation.Provider{Objects: []installation.Object{{Unstructured: deployment(1), Stage: bundle.Workloads}}}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, v.Objects[0].Differences); diff != "" {
			t.Error(scaledBy, diff)
		}
	}
}
