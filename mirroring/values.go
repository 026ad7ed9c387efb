// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func under(m map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m = below(m, p)
	}
	return m
}

func below(m map[string]any, key string) map[string]any {
	sub, _ := m[key].(map[string]any)
	return sub
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func sortedKeys(m map[string]any) []string {
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

func valueAt(o *unstructured.Unstructured, path []string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}
