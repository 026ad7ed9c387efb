// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An object of the cluster has no namespace, and the core group has no name. The text shows no gap for either.
func TestAReferenceInAMessage(t *testing.T) {
	for want, ref := range map[string]Ref{
		"cluster.x-k8s.io Cluster c/k":                           {schema.GroupVersionKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}, "c", "k"},
		"apiextensions.k8s.io CustomResourceDefinition machines": {schema.GroupVersionKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, "", "machines"},
		"Namespace c": {schema.GroupVersionKind{Kind: "Namespace"}, "", "c"},
		"Secret c/s":  {schema.GroupVersionKind{Kind: "Secret"}, "c", "s"},
	} {
		if got := ref.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
