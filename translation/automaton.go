// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// An automaton is Rows compiled for one document, with a node for each place. So a Scanner keeps one number for each open container, and checks nothing in
// places that no row can reach (node 0).
type automaton struct {
	nodes []node
	start uint16
	// hideFrames reports that a whole frame may be left out.
	hideFrames bool
}

// dead is the node beneath which nothing is translated.
const dead = 0

type node struct {
	// value is the form of text at this place, keys that of the names of its members.
	value, keys Value
	// hide reports that its elements, or members, may be left out.
	hide bool
	// hides reports that the text here decides whether an element is left out.
	hides bool
	// edges lead on by a member's name, other by any other name, element into a list.
	edges          []edge
	other, element uint16
	// kinds are the nodes in place of this one once the object's kind is known.
	kinds []edge
}

type edge struct {
	name string
	to   uint16
}

// follow is where the member of that name leads.
func (n *node) follow(name []byte) uint16 {
	for i := range n.edges {
		if e := &n.edges[i]; string(name) == e.name {
			return e.to
		}
	}
	return n.other
}

// segment is one element of a pattern.
type segment struct {
	form segmentForm
	name string // a member's, or a kind
}

type segmentForm uint8

const (
	member  segmentForm = iota
	element             // []
	anyName             // {}
	names               // {key}, the last segment
	depth               // **
	ofKind              // the rest holds for one kind
)

type pattern struct {
	segments []segment
	value    Value
	hide     bool
	never    bool
}

// segments reads the path of a Row.
func segments(path string) []segment {
	var out []segment
	for _, s := range strings.FieldsFunc(strings.NewReplacer("[]", ".[]", "{key}", ".{key}", "{}", ".{}").Replace(path), func(r rune) bool { return r == '.' }) {
		switch s {
		case "[]":
			out = append(out, segment{form: element})
		case "{}":
			out = append(out, segment{form: anyName})
		case "{key}":
			out = append(out, segment{form: names})
		case "**":
			out = append(out, segment{form: depth})
		default:
			out = append(out, segment{form: member, name: s})
		}
	}
	return out
}

// patterns are the rows of a document, and what is never translated there. A frame of a watch has them beneath `object`.
func patterns(doc Document, s shape) []pattern {
	var out []pattern
	var frame []segment
	if s == framed {
		frame = segments("object")
	}
	for _, p := range doc.parts() {
		if p.list && s != listed {
			continue
		}
		prefix := slices.Clone(frame)
		if p.kind != "" {
			prefix = append(prefix, segment{ofKind, p.kind})
		}
		prefix = append(prefix, segments(p.prefix)...)
		for _, r := range Rows {
			if r.In != p.rows {
				continue
			}
			of := slices.Clone(prefix)
			if r.Kind != "" {
				of = append(of, segment{ofKind, r.Kind})
			}
			out = append(out, pattern{segments: append(of, segments(r.At)...), value: r.Is, hide: r.Hide})
		}
		for _, n := range Never {
			if n.In == p.rows {
				out = append(out, pattern{segments: append(slices.Clone(prefix), segments(n.At)...), never: true})
			}
		}
	}
	return out
}

// item is a pattern, and how many of its segments have been taken.
type item struct{ pattern, taken int }

type compiler struct {
	patterns []pattern
	known    map[string]uint16
	nodes    []node
}

// compile makes nodes of sets of items, as many as are reachable.
func compile(patterns []pattern) *automaton {
	c := &compiler{patterns: patterns, known: map[string]uint16{}, nodes: make([]node, 1)}
	all := make([]item, len(patterns))
	for i := range patterns {
		all[i] = item{pattern: i}
	}
	start := c.node(all)
	return &automaton{nodes: c.nodes, start: start, hideFrames: slices.ContainsFunc(patterns, pattern.hidesFrame)}
}

// closed adds what is reached without a step: ** may be no depth at all.
func (c *compiler) closed(items []item) []item {
	for i := 0; i < len(items); i++ {
		it := items[i]
		if p := c.patterns[it.pattern]; it.taken < len(p.segments) && p.segments[it.taken].form == depth {
			if next := (item{it.pattern, it.taken + 1}); !slices.Contains(items, next) {
				items = append(items, next)
			}
		}
	}
	slices.SortFunc(items, func(a, b item) int { return (a.pattern-b.pattern)*1000 + a.taken - b.taken })
	return slices.Compact(items)
}

func (c *compiler) node(items []item) uint16 {
	items = c.closed(items)
	if len(items) == 0 || c.never(items) {
		return dead
	}
	key := fmt.Sprint(items)
	if at, ok := c.known[key]; ok {
		return at
	}
	at := uint16(len(c.nodes))
	c.known[key] = at
	c.nodes = append(c.nodes, node{})
	n := c.describe(items)
	for _, name := range c.followed(items) {
		n.edges = append(n.edges, edge{name, c.node(c.after(items, func(s segment) bool { return s.form == anyName || s.form == member && s.name == name }))})
	}
	n.other = c.node(c.after(items, func(s segment) bool { return s.form == anyName }))
	n.element = c.node(c.after(items, func(s segment) bool { return s.form == element }))
	for _, k := range c.awaited(items) {
		n.kinds = append(n.kinds, edge{k, c.node(c.ofKind(items, k))})
	}
	if len(n.kinds) > 0 {
		n.edges = append(n.edges, edge{"kind", c.kindNode()})
	}
	c.nodes[at] = n
	return at
}

// never reports whether a place is one of Never. A row that ends at the very same place has precedence, because a Status has a message, too.
func (c *compiler) never(items []item) bool {
	found := false
	for _, it := range items {
		p := c.patterns[it.pattern]
		if it.taken < len(p.segments) {
			continue
		}
		if !p.never {
			return false
		}
		found = true
	}
	return found
}

// describe is what a place itself has: its value, its names, and whether it hides.
func (c *compiler) describe(items []item) node {
	var n node
	for _, it := range items {
		p := c.patterns[it.pattern]
		rest := p.segments[it.taken:]
		switch {
		case p.never:
		case len(rest) == 0:
			n.value, n.hides = p.value, p.hide
		case len(rest) == 1 && rest[0].form == names:
			n.keys, n.hide = p.value, p.hide
		case p.hide && rest[0].form == element && !slices.ContainsFunc(rest[1:], func(s segment) bool { return s.form == element }):
			n.hide = true
		}
	}
	return n
}

// followed are the names by which a pattern goes on.
func (c *compiler) followed(items []item) []string {
	var out []string
	for _, it := range items {
		if p := c.patterns[it.pattern]; it.taken < len(p.segments) && p.segments[it.taken].form == member && !slices.Contains(out, p.segments[it.taken].name) {
			out = append(out, p.segments[it.taken].name)
		}
	}
	return out
}

// after returns the items after one step that matches by. An item at ** matches every step, and also stays.
func (c *compiler) after(items []item, by func(segment) bool) []item {
	var out []item
	for _, it := range items {
		p := c.patterns[it.pattern]
		switch {
		case it.taken == len(p.segments):
		case p.segments[it.taken].form == depth:
			out = append(out, it)
		case by(p.segments[it.taken]):
			out = append(out, item{it.pattern, it.taken + 1})
		}
	}
	return out
}

func (c *compiler) awaited(items []item) []string {
	var out []string
	for _, it := range items {
		if p := c.patterns[it.pattern]; it.taken < len(p.segments) && p.segments[it.taken].form == ofKind && !slices.Contains(out, p.segments[it.taken].name) {
			out = append(out, p.segments[it.taken].name)
		}
	}
	return out
}

// ofKind is the same place, once it is known to be in an object of that kind.
func (c *compiler) ofKind(items []item, kind string) []item {
	var out []item
	for _, it := range items {
		p := c.patterns[it.pattern]
		switch {
		case it.taken == len(p.segments) || p.segments[it.taken].form != ofKind:
			out = append(out, it)
		case p.segments[it.taken].name == kind:
			out = append(out, item{it.pattern, it.taken + 1})
		}
	}
	return out
}

// kindNode is the place of an object's kind.
func (c *compiler) kindNode() uint16 {
	const key = "kind"
	at, ok := c.known[key]
	if !ok {
		at = uint16(len(c.nodes))
		c.known[key] = at
		c.nodes = append(c.nodes, node{value: kind})
	}
	return at
}

// hidesFrame reports whether the pattern decides about a whole frame: it hides, and is in no list.
func (p pattern) hidesFrame() bool {
	return p.hide && p.segments[0].name == "object" && !slices.ContainsFunc(p.segments, func(s segment) bool { return s.form == element || s.form == names })
}

// shape is how the documents of a body are arranged.
type shape uint8

const (
	single    shape = iota // one document, which is no list
	listed                 // one document, which may be a list
	framed                 // frames of a watch, one after the other
	operation              // an operation of a JSON patch: its value's place is its path
	shapes
)

// compiled are the automata of all documents. Each is made when it is first used.
var compiled = func() (out [documents][shapes]func() *automaton) {
	for doc := range documents {
		for _, s := range []shape{single, listed, framed} {
			out[doc][s] = sync.OnceValue(func() *automaton { return compile(patterns(doc, s)) })
		}
		out[doc][operation] = sync.OnceValue(func() *automaton {
			a := *out[doc][single]()
			a.nodes = append(slices.Clone(a.nodes), node{edges: []edge{{"value", chosen}}})
			a.start = uint16(len(a.nodes) - 1)
			return &a
		})
	}
	return out
}()

func (doc Document) automaton(s shape) *automaton { return compiled[doc][s]() }
