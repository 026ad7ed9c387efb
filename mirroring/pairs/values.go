// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Under returns the map at a path, nil if there is none.
func Under(m map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m = Below(m, p)
	}
	return m
}

// Below returns the map at a key, nil if there is none.
func Below(m map[string]any, key string) map[string]any {
	sub, _ := m[key].(map[string]any)
	return sub
}

// List returns a value as a list, nil if it is no list.
func List(v any) []any {
	l, _ := v.([]any)
	return l
}

// SortedKeys returns the keys of a map, sorted.
func SortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Nested returns the text at a path, "" if there is none.
func Nested(o *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, path...)
	return v
}

// ValueAt returns the value at a path, nil if there is none.
func ValueAt(o *unstructured.Unstructured, path []string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}
