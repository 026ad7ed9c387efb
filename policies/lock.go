// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// Difference is one place where two JSON values differ.
type Difference struct {
	Path     *field.Path
	Old, New any // nil: absent
}

// Comparison selects how two JSON values are compared. Everything is compared except what Comparison leaves out, so that a field that this build does not know
// counts too (the lock by exception of DESIGN §3.1). Absent and null are equal.
type Comparison struct {
	// Except are the paths of fields that may differ, together with everything beneath them. A path begins with the root, for example spec.replicas.
	Except []string
	// Exact are the paths of fields beneath which an empty list or object differs from an absent one. Everywhere else, empty and absent are equal.
	Exact []string
	// Most is how many differences are named; 0 means all. Most limits the cost, because the cost of naming a difference grows with the depth of the path.
	Most int
}

// Differences returns every place where two JSON values differ, except at and beneath the paths in except. See Comparison.Differences.
func Differences(root *field.Path, before, after json.RawMessage, except ...string) ([]Difference, error) {
	found, _, err := Comparison{Except: except}.Differences(root, before, after)
	return found, err
}

// Differences returns the places where two JSON values differ, each by its deepest path, in path order. more is the number of differences that are not named
// (Most). If one side lacks a value beneath Exact, that value is one place, and not one place for each member. Differences takes time in proportion to the size
// of the values.
func (c Comparison) Differences(root *field.Path, before, after json.RawMessage) (named []Difference, more int, err error) {
	if bytes.Equal(before, after) {
		return nil, 0, nil
	}
	b, err := decode(before)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the stored %s: %w", root, err)
	}
	a, err := decode(after)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the requested %s: %w", root, err)
	}
	d := differ{most: c.Most}
	d.walk(root, c.branch(root.String()), false, b, a)
	return d.named, d.count - len(d.named), nil
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

// branch has what a Comparison says about a field, and the branches of the fields beneath. The tree of branches is walked together with the values. Looking up
// each field by its full path instead would take time that grows with the square of the depth.
type branch struct {
	except, exact bool
	next          map[string]*branch
}

// branch returns the tree of the Comparison's paths that are beneath a root.
func (c Comparison) branch(root string) *branch {
	top := &branch{}
	for _, path := range c.Except {
		if at := top.find(root, path); at != nil {
			at.except = true
		}
	}
	for _, path := range c.Exact {
		if at := top.find(root, path); at != nil {
			at.exact = true
		}
	}
	return top
}

// find returns the branch at a path, and creates the branches on the way to it. It returns nil if the path is not beneath the root.
func (b *branch) find(root, path string) *branch {
	beneath, ok := strings.CutPrefix(path+".", root+".")
	if !ok {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(beneath, "."), ".") {
		if name == "" {
			continue
		}
		if b.next == nil {
			b.next = map[string]*branch{}
		}
		if b.next[name] == nil {
			b.next[name] = &branch{}
		}
		b = b.next[name]
	}
	return b
}

// at returns the branch of a member. It returns nil if the Comparison has no path at or beneath that member.
func (b *branch) at(name string) *branch {
	if b == nil {
		return nil
	}
	return b.next[name]
}

type differ struct {
	most  int
	named []Difference
	count int
}

func (d *differ) walk(path *field.Path, at *branch, exact bool, b, a any) {
	if at != nil && at.except || b == nil && a == nil || !exact && empty(b) && empty(a) {
		return
	}
	if exact && (b == nil || a == nil) {
		d.found(path, b, a)
		return
	}
	bm, bIsMap := asMap(b)
	am, aIsMap := asMap(a)
	if bIsMap && aIsMap {
		d.walkMap(path, at, exact || at != nil && at.exact, bm, am)
		return
	}
	bl, bIsList := b.([]any)
	al, aIsList := a.([]any)
	if bIsList && aIsList && len(bl) == len(al) {
		for i := range bl {
			d.walk(path.Index(i), nil, exact || at != nil && at.exact, bl[i], al[i])
		}
		return
	}
	if !jsonnumbers.Equal(b, a) {
		d.found(path, b, a)
	}
}

func (d *differ) found(path *field.Path, b, a any) {
	d.count++
	if d.most == 0 || len(d.named) < d.most {
		d.named = append(d.named, Difference{Path: path, Old: b, New: a})
	}
}

func (d *differ) walkMap(path *field.Path, at *branch, exact bool, b, a map[string]any) {
	keys := sets.KeySet(b).Union(sets.KeySet(a)).UnsortedList()
	slices.Sort(keys)
	for _, k := range keys {
		d.walk(child(path, k), at.at(k), exact, b[k], a[k])
	}
}

// child returns the path of a member in the form that field.Error prints. A key that is not an identifier is put in brackets.
func child(path *field.Path, key string) *field.Path {
	for _, r := range key {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return path.Key(key)
		}
	}
	return path.Child(key)
}

// asMap returns v as a map, and whether v is one. An absent value counts as an empty map, so that {"a":{"b":null}} equals {}.
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
