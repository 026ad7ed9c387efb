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

// Of copies the list of an object, so that what came from a cache is not written to; nil if there is none.
func Of(o *unstructured.Unstructured) []any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return list
}

// New is a condition without a time: Set gives it one.
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

// Text is the text of a member, empty where there is none.
func Text(condition map[string]any, member string) string {
	s, _ := condition[member].(string)
	return s
}

// Set puts a condition in the place of the one of its type: a list has no order that means anything, so it is kept. A condition without a lastTransitionTime
// gets now if its status is a new one, else that of before. changed is false of a list that has the condition already. The list itself is never written to.
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

// Without is the list without the condition of a type.
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

// has reports whether a condition equals what is wanted in all that people read. Members that the wanted one lacks otherwise are their writer's.
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
