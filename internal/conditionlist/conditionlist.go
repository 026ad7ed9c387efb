// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conditionlist

import (
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// Of returns a copy of an object's conditions, nil if there are none. It is a copy because an object of a cache must not be changed.
func Of(o *unstructured.Unstructured) []any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return list
}

// New returns a condition without lastTransitionTime. Set adds the time.
func New(kind string, status metav1.ConditionStatus, reason, message string) map[string]any {
	return map[string]any{"type": kind, "status": string(status), "reason": reason, "message": message}
}

// Find returns the condition of a type, nil if there is none.
func Find(list []any, kind string) map[string]any {
	if i := index(list, kind); i >= 0 {
		c, _ := list[i].(map[string]any)
		return c
	}
	return nil
}

// Text returns the text of a condition's member, "" if it has none.
func Text(condition map[string]any, member string) string {
	s, _ := condition[member].(string)
	return s
}

// Set returns the list with the wanted condition, which replaces the condition of its type or is added at the end. Set keeps the order of the list. If wanted
// has no lastTransitionTime, it gets now if its status is new, or else the former time. changed is false if the list has the condition already. Set does not
// change list itself.
func Set(list []any, wanted map[string]any, now time.Time) (merged []any, changed bool) {
	i := index(list, Text(wanted, "type"))
	var before map[string]any
	if i >= 0 {
		before, _ = list[i].(map[string]any)
	}
	next := maps.Clone(wanted)
	if Text(next, "lastTransitionTime") == "" {
		next["lastTransitionTime"] = before["lastTransitionTime"]
		if Text(before, "status") != Text(next, "status") {
			next["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
		}
	}
	if i < 0 {
		return append(slices.Clone(list), next), true
	}
	if has(before, next) {
		return list, false
	}
	merged = slices.Clone(list)
	merged[i] = next
	return merged, true
}

// Without returns the list without the condition of a type.
func Without(list []any, kind string) []any {
	if i := index(list, kind); i >= 0 {
		return slices.Delete(slices.Clone(list), i, i+1)
	}
	return list
}

func index(list []any, kind string) int {
	return slices.IndexFunc(list, func(c any) bool {
		m, _ := c.(map[string]any)
		return m != nil && Text(m, "type") == kind
	})
}

// has reports whether a condition has every member of the wanted condition, and the same reason, message and severity. Other members, which wanted lacks, do
// not count, because they belong to another writer.
func has(condition, wanted map[string]any) bool {
	for member, value := range wanted {
		if !jsonnumbers.Equal(value, condition[member]) && !reflect.DeepEqual(value, condition[member]) {
			return false
		}
	}
	for _, member := range []string{"reason", "message", "severity"} {
		if Text(condition, member) != Text(wanted, member) {
			return false
		}
	}
	return true
}
