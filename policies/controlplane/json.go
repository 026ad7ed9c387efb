// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// plain is a value as JSON reads it again: maps, lists and scalars. The values are this package's own and marshal.
func plain(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// place is a step on the way to a member: a name, or an index of a list.
type place struct {
	name  string
	index int // -1: name
}

func listItem(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// places takes "network.devices[0].networkName" apart. Paths are written in this package, in the table of platforms.
func places(path string) []place {
	var out []place
	for _, part := range strings.Split(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		out = append(out, place{name, -1})
		if number, ok := strings.CutSuffix(rest, "]"); ok {
			if i, err := strconv.Atoi(number); err == nil {
				out = append(out, place{"", i})
			}
		}
	}
	return out
}

// put returns v with a member set; what is in the way and no map or list gives way to one.
func put(v any, way []place, value any) any {
	if len(way) == 0 {
		return value
	}
	if way[0].index < 0 {
		m, ok := v.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[way[0].name] = put(m[way[0].name], way[1:], value)
		return m
	}
	l, _ := v.([]any)
	for len(l) <= way[0].index {
		l = append(l, nil)
	}
	l[way[0].index] = put(l[way[0].index], way[1:], value)
	return l
}

// member is what a way leads to, nil where it ends before.
func member(v any, way []place) any {
	for _, step := range way {
		switch at := v.(type) {
		case map[string]any:
			v = at[step.name]
		case []any:
			if step.index < 0 || step.index >= len(at) {
				return nil
			}
			v = at[step.index]
		default:
			return nil
		}
	}
	return v
}

// sorted is a list in the order of its items' JSON.
func sorted(l []any) []any {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	return out
}

// text is a value as a person reads it in a sentence.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		if v == "" {
			return `""`
		}
		return v
	case json.Number, bool:
		return fmt.Sprint(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

func deref[T any](p *[]T) []T {
	if p == nil {
		return nil
	}
	return *p
}

func names[T any](all []T, name func(T) string) []string {
	var out []string
	for _, one := range all {
		out = append(out, name(one))
	}
	slices.Sort(out)
	return out
}

func listOr(all []string, none string) string {
	if len(all) == 0 {
		return none
	}
	return strings.Join(all, ", ")
}

func listAt(v any, path string) []any {
	l, _ := member(v, places(path)).([]any)
	return l
}

func raw(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}

// hollow reports whether a value is empty, at every level.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

// remove returns v without a member, and without the objects and the last items of lists that are empty without it.
func remove(v any, way []place) any {
	if l, ok := v.([]any); ok && way[0].index >= 0 && way[0].index < len(l) {
		l[way[0].index] = without(l[way[0].index], way)
		for len(l) > 0 && barren(l[len(l)-1]) {
			l = l[:len(l)-1]
		}
		return l
	}
	if m, ok := v.(map[string]any); ok && m[way[0].name] != nil {
		if m[way[0].name] = without(m[way[0].name], way); barren(m[way[0].name]) {
			delete(m, way[0].name)
		}
	}
	return v
}

func without(v any, way []place) any {
	if len(way) == 1 {
		return nil
	}
	return remove(v, way[1:])
}

func barren(v any) bool {
	if m, ok := v.(map[string]any); ok {
		return len(m) == 0
	}
	return hollow(v)
}

func asObject(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

func appended[T any](list, more *[]T) *[]T {
	if more == nil {
		return list
	}
	out := append(slices.Clone(deref(list)), *more...)
	return &out
}
