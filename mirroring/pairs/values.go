// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Under is the map at a path, nil for none.
func Under(m map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m = Below(m, p)
	}
	return m
}

// Below is the map at a key, nil for none.
func Below(m map[string]any, key string) map[string]any {
	sub, _ := m[key].(map[string]any)
	return sub
}

// List is a value as a list, nil if it is none.
func List(v any) []any {
	l, _ := v.([]any)
	return l
}

// SortedKeys are the keys of a map, in order.
func SortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Nested is the text at a path, "" for none.
func Nested(o *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, path...)
	return v
}

// ValueAt is the value at a path, nil for none.
func ValueAt(o *unstructured.Unstructured, path []string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}
