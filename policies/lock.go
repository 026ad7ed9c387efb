// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Difference is one place where two JSON values differ.
type Difference struct {
	Path     *field.Path
	Old, New any // nil: absent
}

// Differences compares two JSON values whole and names every place where they differ, deepest path first told, in
// path order. Absent, null and an empty list or map are equal. A path in except may differ, with all beneath it.
//
// This is the lock by exception of DESIGN §3.1: whatever is not excepted is locked, a field that this build has
// never heard of included.
func Differences(root *field.Path, before, after json.RawMessage, except ...string) ([]Difference, error) {
	if bytes.Equal(before, after) {
		return nil, nil
	}
	b, err := decode(before)
	if err != nil {
		return nil, fmt.Errorf("reading the stored %s: %w", root, err)
	}
	a, err := decode(after)
	if err != nil {
		return nil, fmt.Errorf("reading the requested %s: %w", root, err)
	}
	d := differ{except: sets.New(except...)}
	d.walk(root, b, a)
	return d.found, nil
}

func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	return v, dec.Decode(&v)
}

type differ struct {
	except sets.Set[string]
	found  []Difference
}

func (d *differ) walk(path *field.Path, b, a any) {
	if d.except.Has(path.String()) || (empty(b) && empty(a)) {
		return
	}
	bm, bIsMap := asMap(b)
	am, aIsMap := asMap(a)
	if bIsMap && aIsMap {
		d.walkMap(path, bm, am)
		return
	}
	bl, bIsList := b.([]any)
	al, aIsList := a.([]any)
	if bIsList && aIsList && len(bl) == len(al) {
		for i := range bl {
			d.walk(path.Index(i), bl[i], al[i])
		}
		return
	}
	if !sameScalar(b, a) {
		d.found = append(d.found, Difference{Path: path, Old: b, New: a})
	}
}

func (d *differ) walkMap(path *field.Path, b, a map[string]any) {
	keys := sets.KeySet(b).Union(sets.KeySet(a)).UnsortedList()
	slices.Sort(keys)
	for _, k := range keys {
		d.walk(child(path, k), b[k], a[k])
	}
}

// child spells a path as field.Error does: a map key that is no identifier stands in brackets.
func child(path *field.Path, key string) *field.Path {
	for _, r := range key {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return path.Key(key)
		}
	}
	return path.Child(key)
}

// asMap sees nothing as an empty map, so that {"a":{"b":null}} equals {}.
func asMap(v any) (map[string]any, bool) {
	if v == nil {
		return nil, true
	}
	m, ok := v.(map[string]any)
	return m, ok
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func sameScalar(b, a any) bool {
	bn, bok := b.(json.Number)
	an, aok := a.(json.Number)
	if bok && aok && bn != an {
		bf, berr := strconv.ParseFloat(bn.String(), 64)
		af, aerr := strconv.ParseFloat(an.String(), 64)
		// Past 2^53 two different integers are one float: there the text decides.
		return berr == nil && aerr == nil && bf == af && bf < 1<<53 && bf > -(1<<53)
	}
	return reflect.DeepEqual(b, a)
}
