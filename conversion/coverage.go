// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Uncovered returns a table's errors, one sentence each. Errors are a JSON field of either side that no row, or more than one row, names; a row whose path
// does not exist; and a row that converts although its path ends in ".*". The list is empty for a complete table.
func Uncovered[M, C any](t Table[M, C]) []string {
	var out []string
	for _, r := range t {
		if r.broken != nil {
			out = append(out, r.broken.Error())
		}
	}
	var m, c []string
	for _, l := range t.Lines() {
		if wildcard(l.MachineAPI, l.ClusterAPI) && l.Expressible == Both {
			out = append(out, fmt.Sprintf("row %v %v converts, so it may not end in .*", l.MachineAPI, l.ClusterAPI))
		}
		m, c = append(m, below(l.MachineAPI)...), append(c, below(l.ClusterAPI)...)
	}
	out = append(out, missing("Machine API", Leaves(reflect.TypeFor[M]()), m)...)
	return append(out, missing("Cluster API", Leaves(reflect.TypeFor[C]()), c)...)
}

func wildcard(paths ...[]string) bool {
	return slices.ContainsFunc(slices.Concat(paths...), func(p string) bool { return strings.HasSuffix(p, ".*") })
}

func missing(side string, leaves, named []string) []string {
	var out []string
	for _, leaf := range leaves {
		if !slices.ContainsFunc(named, func(n string) bool { return covers(n, leaf) }) {
			out = append(out, fmt.Sprintf("no row names the %s field %s", side, leaf))
		}
	}
	for i, n := range named {
		if slices.Contains(named[:i], n) {
			out = append(out, fmt.Sprintf("two rows name the %s field %s", side, n))
		}
	}
	return out
}

func covers(named, leaf string) bool {
	if under, ok := strings.CutSuffix(named, "*"); ok {
		return strings.HasPrefix(leaf, under) || strings.HasPrefix(leaf, strings.TrimSuffix(under, ".")+"[].")
	}
	return named == leaf
}

// Leaves returns the JSON paths of a type's leaves, in the order of its fields. A leaf is a field that has no fields of its own. A map is one leaf.
func Leaves(t reflect.Type) []string { return leaves(t, "", nil) }

func leaves(t reflect.Type, at string, seen []reflect.Type) []string {
	t = plain(t)
	if opaque(t) || slices.Contains(seen, t) {
		return []string{at}
	}
	switch t.Kind() {
	case reflect.Slice:
		if inner := leaves(t.Elem(), at+"[]", seen); len(inner) != 1 || inner[0] != at+"[]" {
			return inner
		}
		return []string{at}
	case reflect.Struct:
		return structLeaves(t, at, append(seen, t))
	}
	return []string{at}
}

func structLeaves(t reflect.Type, at string, seen []reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		switch name := jsonName(f); {
		case name == "-" || !f.IsExported():
		case name == "":
			out = append(out, leaves(f.Type, at, seen)...)
		default:
			out = append(out, leaves(f.Type, join(at, name), seen)...)
		}
	}
	return out
}

// opaque reports whether a type encodes itself to JSON, like a time. The Go fields of such a type are no JSON fields.
func opaque(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
