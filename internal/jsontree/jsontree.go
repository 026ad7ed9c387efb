// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontree

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// Path is the path of a value; nil is the root's. Most of a tree is equal, so a path is turned into text only when needed.
type Path struct {
	above *Path
	name  string // of a member; "" of an item
	index int
}

// At is the path of a member.
func (p *Path) At(name string) *Path { return &Path{above: p, name: name} }

// Through reports whether the path contains a member with one of these names.
func (p *Path) Through(names ...string) bool {
	return p != nil && (p.name != "" && slices.Contains(names, p.name) || p.above.Through(names...))
}

// String is the path with the items' places: spec.items[0].a.
func (p *Path) String() string { return p.spell(func(i int) string { return strconv.Itoa(i) }) }

// Unnumbered is the path without the items' places: spec.items[].a.
func (p *Path) Unnumbered() string { return p.spell(func(int) string { return "" }) }

func (p *Path) spell(item func(int) string) string {
	switch {
	case p == nil:
		return ""
	case p.name == "":
		return p.above.spell(item) + "[" + item(p.index) + "]"
	}
	return strings.TrimPrefix(p.above.spell(item)+"."+p.name, ".")
}

// Lack is a place where an object has not what is wanted.
type Lack struct {
	Path         *Path
	Wanted, Live any
}

// Comparison selects what counts as equal. Objects are compared member by member, and lists item by item; lists of different lengths are one place.
type Comparison struct {
	// Same compares two values that are not both objects, and not both lists; nil: they are equal, numbers by value.
	Same func(at *Path, wanted, live any) bool
	// ByName finds the items of lists by their names where each has one: others may have added items.
	ByName bool
	// Empty requires an object or list that is wanted empty to exist.
	Empty bool
}

// Has reports whether live has all of what is wanted.
func Has(wanted, live any) bool { return Comparison{}.Has(wanted, live) }

// Has reports whether live has all of what is wanted.
func (c Comparison) Has(wanted, live any) bool { return len(c.Lacking(nil, wanted, live)) == 0 }

// Lacking lists the differences, in the order of paths. An absent object or list counts as the wanted empty one, unless Empty is set.
func (c Comparison) Lacking(at *Path, wanted, live any) []Lack {
	switch w := wanted.(type) {
	case map[string]any:
		l, is := live.(map[string]any)
		if !is && (len(w) > 0 || live != nil || c.Empty) {
			return []Lack{{at, wanted, live}}
		}
		var out []Lack
		for _, name := range slices.Sorted(maps.Keys(w)) {
			out = append(out, c.Lacking(at.At(name), w[name], l[name])...)
		}
		return out
	case []any:
		l, is := live.([]any)
		if !is && (len(w) > 0 || live != nil || c.Empty) {
			return []Lack{{at, wanted, live}}
		}
		return c.items(at, w, l)
	}
	same := jsonnumbers.Equal
	if c.Same != nil {
		same = func(wanted, live any) bool { return c.Same(at, wanted, live) }
	}
	if same(wanted, live) {
		return nil
	}
	return []Lack{{at, wanted, live}}
}

func (c Comparison) items(at *Path, wanted, live []any) []Lack {
	out := []Lack{{at, wanted, live}}
	if len(wanted) == len(live) {
		out = nil
		for i := range wanted {
			out = append(out, c.Lacking(&Path{above: at, index: i}, wanted[i], live[i])...)
		}
	}
	if len(out) > 0 && c.ByName && c.byName(at, wanted, live) {
		return nil
	}
	return out
}

func (c Comparison) byName(at *Path, wanted, live []any) bool {
	named := map[string]any{}
	for _, item := range live {
		m, _ := item.(map[string]any)
		name, has := m["name"].(string)
		if _, twice := named[name]; !has || twice {
			return false
		}
		named[name] = item
	}
	for _, item := range wanted {
		m, _ := item.(map[string]any)
		name, has := m["name"].(string)
		if !has || named[name] == nil || len(c.Lacking(at, item, named[name])) > 0 {
			return false
		}
	}
	return true
}
