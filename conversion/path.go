// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// steps is a JSON path that has been resolved against a Go type. A row resolves its paths once, when the row is made.
type steps struct {
	path string
	hops []hop
	leaf reflect.Type
}

// hop is one step of a path: into a struct's field, by the field's index. If the path has [] behind the field, the hop also goes into each element of the
// list.
type hop struct {
	name  string
	index []int
	each  bool
}

func join(root, path string) string {
	switch {
	case root == "":
		return path
	case path == "":
		return root
	}
	return root + "." + path
}

func pair[M, C any](machineAPI, clusterAPI string) (m, c steps, err error) {
	if m, err = resolve(reflect.TypeFor[M](), machineAPI); err != nil {
		return m, c, err
	}
	if c, err = resolve(reflect.TypeFor[C](), clusterAPI); err != nil {
		return m, c, err
	}
	if a, b := plain(m.leaf), plain(c.leaf); m.many() || c.many() || family(a) != family(b) || family(a) == "" {
		return m, c, fmt.Errorf("%s (%s) and %s (%s) cannot be the same", machineAPI, m.leaf, clusterAPI, c.leaf)
	}
	return m, c, nil
}

func (s steps) many() bool { return slices.ContainsFunc(s.hops, func(h hop) bool { return h.each }) }

func plain(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// family returns the name of the group to which a type's kind belongs: Same converts only within one group. It is "" for a kind that Same cannot convert.
func family(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String, reflect.Bool:
		return t.Kind().String()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "int"
	}
	return ""
}

func resolve(t reflect.Type, path string) (steps, error) {
	s := steps{path: path}
	for _, name := range strings.Split(strings.TrimSuffix(path, ".*"), ".") {
		name, each := strings.CutSuffix(name, "[]")
		f, ok := fieldByJSON(plain(t), name)
		if !ok {
			return s, fmt.Errorf("%s has no JSON field %q (path %s)", t, name, path)
		}
		t = f.Type
		if each {
			if t = plain(t); t.Kind() != reflect.Slice {
				return s, fmt.Errorf("%s is no list (path %s)", t, path)
			}
			t = t.Elem()
		}
		s.hops = append(s.hops, hop{name: name, index: f.Index, each: each})
	}
	s.leaf = t
	return s, nil
}

// fieldByJSON returns a struct's field by its JSON name. Like encoding/json, it also looks in embedded structs.
func fieldByJSON(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag := jsonName(f); tag == name && f.IsExported() {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func jsonName(f reflect.StructField) string {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if tag == "" && !f.Anonymous {
		return f.Name
	}
	return tag
}

// get returns the value at the path; the invalid reflect.Value if a pointer on the way is nil. The path must not have [].
func (s steps) get(v reflect.Value) reflect.Value {
	for _, h := range s.hops {
		if v = indirect(v); !v.IsValid() {
			return v
		}
		v = v.FieldByIndex(h.index)
	}
	return v
}

// make returns the settable value at the path, and allocates each nil pointer on the way. The path must not have [].
func (s steps) make(v reflect.Value) reflect.Value {
	for _, h := range s.hops {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.FieldByIndex(h.index)
	}
	return v
}

// visit calls f for every value at the path. The path that f receives is the value's own, with an index in place of each []. visit skips values below a nil
// pointer or a zero field.
func (s steps) visit(v reflect.Value, f func(path string, v reflect.Value)) { visit(s.hops, "", v, f) }

func visit(hops []hop, at string, v reflect.Value, f func(string, reflect.Value)) {
	if len(hops) == 0 {
		f(at, v)
		return
	}
	if v = indirect(v); !v.IsValid() {
		return
	}
	h := hops[0]
	next := v.FieldByIndex(h.index)
	if !h.each {
		// A zero field is skipped before its path is made, because a path is needed only if there is a problem to report.
		if next.IsZero() {
			return
		}
		visit(hops[1:], join(at, h.name), next, f)
		return
	}
	if next = indirect(next); !next.IsValid() {
		return
	}
	for i := range next.Len() {
		visit(hops[1:], join(at, h.name)+"["+strconv.Itoa(i)+"]", next.Index(i), f)
	}
}

func indirect(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	return v
}

// set reports whether a value is set. A pointer is set if it is not nil, a list or map if it has an element, a struct if one of its fields is set, and any
// other value if it is not zero.
func set(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() > 0
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil()
	case reflect.Struct:
		if opaque(v.Type()) {
			break
		}
		for i := range v.NumField() {
			if set(v.Field(i)) {
				return true
			}
		}
		return false
	}
	return !v.IsZero()
}

// SetPaths returns the paths of the values that are set in value, a pointer to a struct. It looks at one path, which may have [], so there may be several
// results. A value whose text equals passes is left out, unless passes is "".
func SetPaths(value any, path, passes string) []string {
	var out []string
	s, err := resolve(reflect.TypeOf(value), path)
	if err != nil {
		return nil
	}
	s.visit(reflect.ValueOf(value), func(at string, v reflect.Value) {
		if set(v) && (passes == "" || fmt.Sprint(indirect(v).Interface()) != passes) {
			out = append(out, at)
		}
	})
	return out
}
