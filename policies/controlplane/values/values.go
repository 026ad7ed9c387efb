// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Plain returns a value as encoding/json reads it: maps, lists and scalars. It is for values that certainly marshal, and returns nil for others.
func Plain(v any) any {
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

// PathElement is one element of a path: a name, or an index of a list.
type PathElement struct {
	name  string
	index int // -1 if the element is a name
}

// Item returns the path of item i of the list at path.
func Item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Path parses a path such as "network.devices[0].networkName". Paths are constants in this project's tables.
func Path(path string) []PathElement {
	var out []PathElement
	for _, part := range strings.Split(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		out = append(out, PathElement{name, -1})
		if number, ok := strings.CutSuffix(rest, "]"); ok {
			if i, err := strconv.Atoi(number); err == nil {
				out = append(out, PathElement{"", i})
			}
		}
	}
	return out
}

// Put returns v with the member at the path "way" set to value. It may change v. If a value on the way is no map or list, a map or list replaces it.
func Put(v any, way []PathElement, value any) any {
	if len(way) == 0 {
		return value
	}
	if way[0].index < 0 {
		m, ok := v.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[way[0].name] = Put(m[way[0].name], way[1:], value)
		return m
	}
	l, _ := v.([]any)
	for len(l) <= way[0].index {
		l = append(l, nil)
	}
	l[way[0].index] = Put(l[way[0].index], way[1:], value)
	return l
}

// At returns the value at a path; nil if the path ends earlier.
func At(v any, way []PathElement) any {
	for _, element := range way {
		switch at := v.(type) {
		case map[string]any:
			v = at[element.name]
		case []any:
			if element.index < 0 || element.index >= len(at) {
				return nil
			}
			v = at[element.index]
		default:
			return nil
		}
	}
	return v
}

// Sorted returns a list sorted by its items' JSON.
func Sorted(l []any) []any {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(Text(a), Text(b)) })
	return out
}

// Text returns a value as a text for a sentence.
func Text(v any) string {
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

// Deref returns the list behind a pointer, nil for nil.
func Deref[T any](p *[]T) []T {
	if p == nil {
		return nil
	}
	return *p
}

// Names returns the names of the items of all, sorted.
func Names[T any](all []T, name func(T) string) []string {
	var out []string
	for _, one := range all {
		out = append(out, name(one))
	}
	slices.Sort(out)
	return out
}

// ListOr joins the items of a list for a sentence. For an empty list it returns the text "none", its parameter.
func ListOr(all []string, none string) string {
	if len(all) == 0 {
		return none
	}
	return strings.Join(all, ", ")
}

// List returns the list at a path, nil if there is none.
func List(v any, path string) []any {
	l, _ := At(v, Path(path)).([]any)
	return l
}

// Raw returns a value in JSON, nil if it cannot be written in JSON.
func Raw(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}

// Blank reports whether a value is null, an empty text or an empty list.
func Blank(v any) bool {
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

// Remove returns v without the member at the path "way". It also removes the objects, and the last items of lists, that become empty by that. It may change v.
func Remove(v any, way []PathElement) any {
	if l, ok := v.([]any); ok && way[0].index >= 0 && way[0].index < len(l) {
		l[way[0].index] = without(l[way[0].index], way)
		for len(l) > 0 && Empty(l[len(l)-1]) {
			l = l[:len(l)-1]
		}
		return l
	}
	if m, ok := v.(map[string]any); ok && m[way[0].name] != nil {
		if m[way[0].name] = without(m[way[0].name], way); Empty(m[way[0].name]) {
			delete(m, way[0].name)
		}
	}
	return v
}

func without(v any, way []PathElement) any {
	if len(way) == 1 {
		return nil
	}
	return Remove(v, way[1:])
}

// Empty reports whether a value has no content: it is an empty object, or Blank.
func Empty(v any) bool {
	if m, ok := v.(map[string]any); ok {
		return len(m) == 0
	}
	return Blank(v)
}

// Object returns a value as an object, nil if it is none.
func Object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// Appended returns list with the items of more; nil if both are nil.
func Appended[T any](list, more *[]T) *[]T {
	if more == nil {
		return list
	}
	out := append(slices.Clone(Deref(list)), *more...)
	return &out
}
