// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestACacheIsMadeBeforeItsKindsExist: a process starts although somebody has deleted the CRD of a kind for which the cache has options of its own.
func TestACacheIsMadeBeforeItsKindsExist(t *testing.T) {
	of := func(kind string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind})
		return o
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	options := cache.Options{Scheme: runtime.NewScheme(), Mapper: mapper, ByObject: map[client.Object]cache.ByObject{
		of("Machine"): {Namespaces: map[string]cache.Config{"here": {}}}, of("Operator"): {},
	}}
	if _, err := New(&rest.Config{Host: "https://127.0.0.1:1"}, options); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]meta.RESTScope{"Machine": meta.RESTScopeNamespace, "Operator": meta.RESTScopeRoot, "Other": nil} {
		mapping, err := withScopes(mapper, options.ByObject).RESTMapping(schema.GroupKind{Group: "example.com", Kind: kind}, "v1")
		if want == nil {
			if !meta.IsNoMatchError(err) {
				t.Errorf("%s: %v, %v", kind, mapping, err)
			}
			continue
		}
		if err != nil || mapping.Scope != want {
			t.Errorf("%s: %v, %v", kind, mapping, err)
		}
	}
	mapper.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Machine"}, meta.RESTScopeRoot)
	if mapping, err := withScopes(mapper, options.ByObject).RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Machine"}, "v1"); err != nil || mapping.Scope != meta.RESTScopeRoot {
		t.Errorf("the API server's own mapping does not count: %v, %v", mapping, err)
	}
}
