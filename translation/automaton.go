// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// An automaton is the table Rows, compiled for one Document. It has a node for each position in the document. So a Scanner keeps only one number for each open
// container, and checks nothing at positions that no row can reach (node 0).
type automaton struct {
	nodes []node
	start uint16
	// hideFrames means that a whole watch frame may be left out.
	hideFrames bool
}

// dead is the node of all positions at which, and beneath which, nothing is translated.
const dead = 0

type node struct {
	// value is the form of the text at this position. keys is the form of the names of its members.
	value, keys Value
	// hide means that elements or members of this container may be left out.
	hide bool
	// hides means that the text at this position decides whether the element around it is left out.
	hides bool
	// edges lead to the nodes of members by their names, other to the node of members with any other name, element to the node of a list's elements.
	edges          []edge
	other, element uint16
	// kinds are the nodes that replace this one once the object's kind is known, by kind.
	kinds []edge
}

type edge struct {
	name string
	to   uint16
}

// follow returns the node of the member with a name.
func (n *node) follow(name []byte) uint16 {
	for i := range n.edges {
		if e := &n.edges[i]; string(name) == e.name {
			return e.to
		}
	}
	return n.other
}

// segment is one step of a path, such as a member's name or [].
type segment struct {
	form segmentForm
	name string // of a member, or a kind
}

type segmentForm uint8

const (
	member  segmentForm = iota
	element             // []
	anyName             // {}
	names               // {key}, the last segment
	depth               // **
	ofKind              // the rest of the path holds only for objects of one kind
)

type pattern struct {
	segments []segment
	value    Value
	hide     bool
	never    bool
}

// segments splits the path of a Row into its steps.
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

// patterns returns the rows that hold for a document, and the positions in it that are never translated. In a watch frame, the document is the member `object`.
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

// item is a pattern, and how many of its segments have been followed.
type item struct{ pattern, taken int }

type compiler struct {
	patterns []pattern
	known    map[string]uint16
	nodes    []node
}

// compile makes an automaton of patterns. Each node stands for a set of items, and only the reachable sets get a node.
func compile(patterns []pattern) *automaton {
	c := &compiler{patterns: patterns, known: map[string]uint16{}, nodes: make([]node, 1)}
	all := make([]item, len(patterns))
	for i := range patterns {
		all[i] = item{pattern: i}
	}
	start := c.node(all)
	return &automaton{nodes: c.nodes, start: start, hideFrames: slices.ContainsFunc(patterns, pattern.hidesFrame)}
}

// closed adds the items that are reached without a step, because ** also matches no step at all. It returns the items sorted, each once.
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

// never reports whether the position is listed in Never. A row that ends at exactly the same position takes precedence: a Status has a message, too.
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

// describe returns the node of a position without its edges: the forms of its text and names, and what may be left out.
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

// followed returns the names of members by which a pattern continues.
func (c *compiler) followed(items []item) []string {
	var out []string
	for _, it := range items {
		if p := c.patterns[it.pattern]; it.taken < len(p.segments) && p.segments[it.taken].form == member && !slices.Contains(out, p.segments[it.taken].name) {
			out = append(out, p.segments[it.taken].name)
		}
	}
	return out
}

// after returns the items after one step. The function "by" reports whether a segment matches the step. An item at ** matches every step, and also stays at **.
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

// ofKind returns the items for the same position, once it is known that the object around it is of a kind.
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

// kindNode returns the node of the member `kind` of an object.
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

// hidesFrame reports whether the pattern decides that a whole watch frame is left out: the pattern hides, and is not inside of a list.
func (p pattern) hidesFrame() bool {
	return p.hide && p.segments[0].name == "object" && !slices.ContainsFunc(p.segments, func(s segment) bool { return s.form == element || s.form == names })
}

// shape says how many documents a body has, and of what sort.
type shape uint8

const (
	single    shape = iota // one document, which is no list
	listed                 // one document, which may be a list
	framed                 // frames of a watch, one after the other
	operation              // an operation of a JSON patch: its path says where its value belongs
	shapes
)

// compiled has the automata of all documents and shapes. Each is made when it is first used.
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
