// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
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
spec:
  providerID: aws:///us-east-1a/i-%d
  ami: {id: ami-0f3c7d07486cad139}
  rootVolume: {size: 120, type: gp3, encrypted: true, iops: null, throughput: 1.5}
  subnet: {filters: [{name: "tag:Name", values: [private-us-east-1a]}], none: [], empty: {}}
`, i, i, i), &o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Objects share what they have in common, and say what they said.
func TestObjectsShare(t *testing.T) {
	s := newSharing()
	var all []any
	for i := range 4 {
		given := managed(t, i)
		o, err := s.share(given)
		if err == nil {
			o, err = s.share(o) // a cache may ask again
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, is := range []any{o, given} {
			if diff := cmp.Diff(any(managed(t, i)), is); diff != "" {
				t.Error(diff)
			}
		}
		all = append(all, o)
	}
	subnet := func(o any) uintptr {
		m, _, err := unstructured.NestedFieldNoCopy(o.(*unstructured.Unstructured).Object, "spec", "subnet")
		if err != nil {
			t.Fatal(err)
		}
		return reflect.ValueOf(m).Pointer()
	}
	if subnet(all[2]) != subnet(all[3]) {
		t.Error("what is the same is there twice")
	}
	for _, o := range []any{"no object", &unstructured.Unstructured{},
		&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{nil, "odd"}, "labels": map[string]any(nil)}}}} {
		if is, err := s.share(o); err != nil || !cmp.Equal(o, is) {
			t.Errorf("%v became %v: %v", o, is, err)
		}
	}
}

// When a status was last written differs from object to object, and nobody reads it: without it, all share who has written what of it. Of other writes the time
// stays, since the mirror and the handoff decide by it.
func TestTheTimesOfStatusesAreLeftOut(t *testing.T) {
	s := newSharing()
	entries := func(i int) []any {
		given := managed(t, i)
		list, _, _ := unstructured.NestedSlice(given.Object, "metadata", "managedFields")
		list[1].(map[string]any)["time"] = fmt.Sprintf("2026-01-01T00:00:%02dZ", i) //nolint:forcetypeassert // made above
		if err := unstructured.SetNestedSlice(given.Object, list, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
		was := given.DeepCopy()
		o, err := s.share(given)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(was, given); diff != "" {
			t.Error(diff)
		}
		found, _, _ := unstructured.NestedFieldNoCopy(o.(*unstructured.Unstructured).Object, "metadata", "managedFields") //nolint:forcetypeassert // so it is
		return found.([]any)                                                                                              //nolint:forcetypeassert // so it is
	}
	entries(0)
	entries(1)
	a, b := entries(2), entries(3)
	if a[0].(map[string]any)["time"] == nil || a[1].(map[string]any)["time"] != nil { //nolint:forcetypeassert // made above
		t.Errorf("%v", a)
	}
	if reflect.ValueOf(a[1]).Pointer() != reflect.ValueOf(b[1]).Pointer() {
		t.Error("each object has its own")
	}
}

// Parts whose hashes are the same by chance are not taken for each other.
func TestPartsOfOneHashStayApart(t *testing.T) {
	parts := []any{
		"aaaaaaaa", "bbbbbbbb", map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}, map[string]any{"b": int64(1)},
		map[string]any{"a": map[string]any{}}, map[string]any{},
		[]any{}, []any{"a"}, []any{"b"}, []any{nil}, []any{map[string]any{}}, []any{[]any{}}, map[string]any{"a": []any{}}, map[string]any{"a": nil},
	}
	for i, a := range parts {
		for j, b := range parts {
			s := newSharing()
			for range 2 {
				s.keep(a, 1)
			}
			if is, _ := s.keep(b, 1); !cmp.Equal(is, b) {
				t.Errorf("%v is taken for %v", b, a)
			}
			if same(a, b) && i != j {
				t.Errorf("%v and %v are the same", a, b)
			}
		}
	}
}

// Of a thousand objects most members exist once. The test counts them, since a heap's size depends on the time of measurement; `test/bench -memory` measures
// it.
func TestSharedObjectsAreSmall(t *testing.T) {
	apart := func(transform func(any) (any, error)) int {
		seen := map[uintptr]bool{}
		var count func(any)
		count = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				seen[reflect.ValueOf(v).Pointer()] = true
				for _, member := range v {
					count(member)
				}
			case []any:
				if len(v) > 0 { // empty ones share a place in any case
					seen[reflect.ValueOf(v).Pointer()] = true
				}
				for _, element := range v {
					count(element)
				}
			}
		}
		var all []any // kept, or one object would be made where another was
		for i := range 1000 {
			o, err := transform(managed(t, i))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
		for _, o := range all {
			count(o.(*unstructured.Unstructured).Object) //nolint:forcetypeassert // so it is
		}
		return len(seen)
	}
	whole, shared := apart(func(o any) (any, error) { return o, nil }), apart(newSharing().share)
	if t.Logf("1000 objects: %d maps and lists, shared %d", whole, shared); shared > whole/3 {
		t.Error("that is hardly less")
	}
}
