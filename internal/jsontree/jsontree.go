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

// Path is the path of a value in a tree; nil is the path of the root. It is turned into text only when needed, because most of a tree is equal.
type Path struct {
	above *Path
	name  string // of a member; "" for an item of a list
	index int
}

// At returns the path of the member with a name below p.
func (p *Path) At(name string) *Path { return &Path{above: p, name: name} }

// Through reports whether the path contains a member with one of these names.
func (p *Path) Through(names ...string) bool {
	return p != nil && (p.name != "" && slices.Contains(names, p.name) || p.above.Through(names...))
}

// String returns the path with the index of each item: spec.items[0].a.
func (p *Path) String() string { return p.spell(func(i int) string { return strconv.Itoa(i) }) }

// Unnumbered returns the path without the index of an item: spec.items[].a.
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

// Lack is a difference: a path at which the live object does not have what is wanted.
type Lack struct {
	Path         *Path
	Wanted, Live any
}

// Comparison selects what counts as equal. Objects are compared member by member, and lists item by item. Lists of different lengths are one difference.
type Comparison struct {
	// Same compares two values that are not both objects, and not both lists. nil compares them by jsonnumbers.Equal.
	Same func(at *Path, wanted, live any) bool
	// ByName compares two lists by the names of their items, if every item has a name. Then items that others have added do not count.
	ByName bool
	// Empty means that an object or list that is wanted empty must exist.
	Empty bool
}

// Has reports whether live has everything that is wanted, by the zero Comparison.
func Has(wanted, live any) bool { return Comparison{}.Has(wanted, live) }

// Has reports whether live has everything that is wanted.
func (c Comparison) Has(wanted, live any) bool { return len(c.Lacking(nil, wanted, live)) == 0 }

// Lacking returns the differences, in the order of their paths. at is the path of both values. Unless Empty is set, an absent object or list counts as empty.
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
