// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// managed is an object as an API server has it, of an owner of its own.
func managed(t *testing.T, i int) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	err := yaml.Unmarshal(fmt.Appendf(nil, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata:
  name: m-%d
  managedFields:
  - manager: poundlock-mirror
    operation: Apply
    time: "2026-01-01T00:00:00Z"
    fieldsV1:
      f:metadata: {f:annotations: {f:a: {}, f:b: {}}, f:labels: {f:c: {}, f:d: {}}, f:ownerReferences: {"k:{\"uid\":\"%d\"}": {}}}
      f:spec: {f:ami: {f:id: {}}, f:instanceType: {}, f:rootVolume: {f:size: {}, f:type: {}}, f:subnet: {f:filters: {}}, f:tags: {}}
  - {manager: capa, operation: Update, subresource: status, fieldsV1: {f:status: {f:conditions: {}, f:ready: {}}}}
`, i, i), &o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Objects share what owners own of them, and say what they said.
func TestOwnershipIsShared(t *testing.T) {
	s := &ownership{}
	for i := range 2 {
		o := managed(t, i)
		for range 2 { // a cache may ask again
			if _, err := s.share(o); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(managed(t, i).Object, o.Object); diff != "" {
			t.Error(diff)
		}
	}
	for _, o := range []any{"no object", &unstructured.Unstructured{}, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{nil, "odd"}}}}} {
		if _, err := s.share(o); err != nil {
			t.Error(err)
		}
	}
	heap := func(transform func(any) (any, error)) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var all []any
		for i := range 1000 {
			o, err := transform(managed(t, i))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(all)
		return after.HeapAlloc - before.HeapAlloc
	}
	whole, shared := heap(func(o any) (any, error) { return o, nil }), heap((&ownership{}).share)
	if t.Logf("1000 objects: %d KB, shared %d KB", whole>>10, shared>>10); shared > whole*2/3 {
		t.Error("that is hardly less")
	}
}
