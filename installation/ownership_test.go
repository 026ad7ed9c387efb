// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/internal/managedfields"
)

// Whose an object is does not depend on Poundlock's marks on it.
func TestOwnerOf(t *testing.T) {
	for want, managers := range map[string][]string{
		"field manager clusterctl, provider cluster-api":          {"clusterctl", managedfields.MarksManager},
		"field manager clusterctl, kubectl, provider cluster-api": {"clusterctl", "kubectl", "clusterctl"},
		"provider cluster-api":                                    {managedfields.MarksManager},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetLabels(map[string]string{bundle.ProviderLabel: "cluster-api"})
		var fields []metav1.ManagedFieldsEntry
		for _, m := range managers {
			fields = append(fields, metav1.ManagedFieldsEntry{Manager: m})
		}
		o.SetManagedFields(fields)
		if got := OwnerOf(o); got != want {
			t.Errorf("%q: %q, want %q", managers, got, want)
		}
	}
}
