// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Table converts M, the Machine API side, and C, the Cluster API side, into each other, field by field. Rows run in order, but their order does not matter,
// because each row reads only the source and writes only the target's fields that the row names.
type Table[M, C any] []Row[M, C]

// Row is one field in both APIs. Only the methods of Rows make a Row; each of these methods covers both directions.
//
// Paths are JSON paths below M or C, with [] behind a list whose elements are meant: "blockDevices[].ebs.iops".
// A path that ends in ".*" stands for all fields below it, also those that a later version adds; only a row that
// converts nothing may have such a path.
type Row[M, C any] struct {
	machineAPI, clusterAPI []string
	note                   string
	expressible            Expressible
	toC                    func(*Pass, *M, *C)
	toM                    func(*Pass, *C, *M)
	passes                 string
	broken                 error
	parts                  []Line
}

// Expressible says which of the two APIs can express a row's field.
type Expressible string

// The values of Expressible.
const (
	Both           Expressible = "both"
	OnlyMachineAPI Expressible = "Machine API only"
	OnlyClusterAPI Expressible = "Cluster API only"
)

// Line is a row in the form that a page or a test reads.
type Line struct {
	MachineAPI, ClusterAPI []string
	Expressible            Expressible
	// Note is what changes in the conversion or, if only one side has the field, why it does not convert.
	Note string
	// Passes is the one value of an unconvertible field that is accepted, because the field's own API server or webhook sets it as the default. It is empty for
	// most fields.
	Passes string
}

// Rows makes the rows of a Table[M, C].
type Rows[M, C any] struct{}

// At lists the paths of a row.
func At(paths ...string) []string { return paths }

// Same returns the row of a field that means the same on both sides. The two sides may have numbers of different widths, and string types of different names.
// One of the sides (not both) may have a pointer. A nil pointer, or a pointer to empty text, then means the same as the other side's zero value. A pointer to
// false or 0 is refused, because it would come back as nil.
func (Rows[M, C]) Same(machineAPI, clusterAPI string) Row[M, C] {
	r := Row[M, C]{machineAPI: At(machineAPI), clusterAPI: At(clusterAPI), expressible: Both}
	m, c, err := pair[M, C](machineAPI, clusterAPI)
	r.broken = err
	r.toC = func(p *Pass, from *M, to *C) { p.carry(m, reflect.ValueOf(from), c, reflect.ValueOf(to)) }
	r.toM = func(p *Pass, from *C, to *M) { p.carry(c, reflect.ValueOf(from), m, reflect.ValueOf(to)) }
	return r
}

// carry copies a scalar: the value of the field s in the struct from becomes the value of the field t in the struct to. The two fields' types must belong to
// one family; pair has checked that.
func (p *Pass) carry(s steps, from reflect.Value, t steps, to reflect.Value) {
	v := s.get(from)
	if !v.IsValid() || v.IsZero() {
		return
	}
	if v.Kind() == reflect.Pointer {
		switch v = v.Elem(); {
		case !v.IsZero() || t.leaf.Kind() == reflect.Pointer:
		case v.Kind() == reflect.String:
			return // empty text means absent
		default:
			p.Unsupported(s.path, v.Interface(), "the other API does not distinguish this value from an absent value: leave this field out")
			return
		}
	}
	target := plain(t.leaf)
	if family(target) == "int" && reflect.Zero(target).OverflowInt(v.Int()) {
		p.Unsupported(s.path, v.Interface(), "this number is out of range for the other API's field: set a number within the range")
		return
	}
	put(t.make(to), v.Convert(target))
}

// Word is one value of an enumeration, in each side's spelling.
type Word struct{ MachineAPI, ClusterAPI string }

// Words returns the row of an enumeration. Empty text and an absent field mean the same on both sides. A value that is not in words is refused.
func (Rows[M, C]) Words(machineAPI, clusterAPI, note string, words ...Word) Row[M, C] {
	r := Row[M, C]{machineAPI: At(machineAPI), clusterAPI: At(clusterAPI), expressible: Both, note: note + spelling(words)}
	m, c, err := pair[M, C](machineAPI, clusterAPI)
	r.broken = err
	there, back := spell(words, func(w Word) (string, string) { return w.MachineAPI, w.ClusterAPI }),
		spell(words, func(w Word) (string, string) { return w.ClusterAPI, w.MachineAPI })
	r.toC = func(p *Pass, from *M, to *C) { p.translate(there, m, reflect.ValueOf(from), c, reflect.ValueOf(to)) }
	r.toM = func(p *Pass, from *C, to *M) { p.translate(back, c, reflect.ValueOf(from), m, reflect.ValueOf(to)) }
	return r
}

func (p *Pass) translate(words map[string]string, s steps, from reflect.Value, t steps, to reflect.Value) {
	v := s.get(from)
	if v.IsValid() {
		v = indirect(v)
	}
	if !v.IsValid() || v.String() == "" {
		return
	}
	word, ok := words[v.String()]
	if !ok {
		p.Unsupported(s.path, v.String(), "supported values: "+list(words))
		return
	}
	put(t.make(to), reflect.ValueOf(word).Convert(plain(t.leaf)))
}

func list(words map[string]string) string {
	var out []string
	for w := range words {
		out = append(out, fmt.Sprintf("%q", w))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Iso returns the row for what the other constructors cannot express: fields of one side that together mean the same as fields of the other side. The
// functions to and from must be inverse to each other. What they cannot convert, they must report to the Pass.
func (Rows[M, C]) Iso(machineAPI, clusterAPI []string, note string, to func(*Pass, *M, *C), from func(*Pass, *C, *M)) Row[M, C] {
	r := Row[M, C]{machineAPI: machineAPI, clusterAPI: clusterAPI, expressible: Both, note: note, toC: to, toM: from}
	r.broken = exist[M, C](below(machineAPI), below(clusterAPI))
	if to == nil || from == nil {
		r.broken = fmt.Errorf("row %v lacks a direction", machineAPI)
	}
	return r
}

func exist[M, C any](machineAPI, clusterAPI []string) error {
	for _, p := range machineAPI {
		if _, err := resolve(reflect.TypeFor[M](), p); err != nil {
			return err
		}
	}
	for _, p := range clusterAPI {
		if _, err := resolve(reflect.TypeFor[C](), p); err != nil {
			return err
		}
	}
	return nil
}

// OnlyMAPI returns the row of a field that Cluster API cannot express: if the field is set, that is an error with this reason. Empty text counts as absent,
// even in a type that distinguishes the two, because users write a providerSpec as YAML.
func (Rows[M, C]) OnlyMAPI(path, reason string) Row[M, C] {
	return onlyMAPI[M, C](path, reason, (*Pass).refuseText)
}

// refuseText reports each set value at a path as unsupported, except a pointer to empty text, which means absent.
func (p *Pass) refuseText(s steps, from reflect.Value, reason string) {
	s.visit(from, func(path string, v reflect.Value) {
		if text := indirect(v); set(v) && (text.Kind() != reflect.String || text.String() != "") {
			p.Unsupported(path, v.Interface(), reason)
		}
	})
}

// OnlyMAPIEvenEmpty returns the row of a field that Cluster API cannot express and whose empty text has a meaning. If the field is set, even to a pointer to
// empty text, that is an error with this reason.
func (Rows[M, C]) OnlyMAPIEvenEmpty(path, reason string) Row[M, C] {
	return onlyMAPI[M, C](path, reason, (*Pass).refuse)
}

func onlyMAPI[M, C any](path, reason string, refuse func(*Pass, steps, reflect.Value, string)) Row[M, C] {
	r := Row[M, C]{machineAPI: At(path), expressible: OnlyMachineAPI, note: reason}
	s, err := resolve(reflect.TypeFor[M](), path)
	r.broken = err
	r.toC = func(p *Pass, from *M, _ *C) { refuse(p, s, reflect.ValueOf(from), reason) }
	r.toM = func(*Pass, *C, *M) {}
	return r
}

// Unread returns a row for each of the given fields, which Machine API's controllers do not read (package unread). The conversion leaves such a field out,
// with a note.
func (rows Rows[M, C]) Unread(paths []string) Table[M, C] {
	var out Table[M, C]
	for _, path := range paths {
		s, err := resolve(reflect.TypeFor[M](), path)
		row := rows.Iso(At(path), nil, "The field is left out, because Machine API ignores it.",
			func(p *Pass, from *M, _ *C) { p.noteEach(s, reflect.ValueOf(from)) }, func(*Pass, *C, *M) {})
		row.broken = cmp.Or(row.broken, err)
		out = append(out, row)
	}
	return out
}

// noteEach adds a note about each set value at a path, which the Machine API ignores.
func (p *Pass) noteEach(s steps, from reflect.Value) {
	if p.notes == nil {
		return
	}
	s.visit(from, func(path string, v reflect.Value) {
		if text := indirect(v); set(v) && (text.Kind() != reflect.String || text.String() != "") {
			p.Note(path, "Machine API ignores this field")
		}
	})
}

// OnlyCAPI returns the row of a field that Machine API cannot express: if the field is set, that is an error with this reason.
func (Rows[M, C]) OnlyCAPI(path, reason string) Row[M, C] {
	r := Row[M, C]{clusterAPI: At(path), expressible: OnlyClusterAPI, note: reason}
	s, err := resolve(reflect.TypeFor[C](), path)
	r.broken = err
	r.toC = func(*Pass, *M, *C) {}
	r.toM = func(p *Pass, from *C, _ *M) { p.refuse(s, reflect.ValueOf(from), reason) }
	return r
}

// OnlyCAPIBeyond returns the row of a field that Machine API cannot express, and that Cluster API's CRD or webhook sets to a default (the parameter value).
// An absent field and the default mean the same and are accepted. Any other value is an error with this reason.
func (Rows[M, C]) OnlyCAPIBeyond(path, value, reason string) Row[M, C] {
	r := Row[M, C]{clusterAPI: At(path), expressible: OnlyClusterAPI, note: reason, passes: value}
	s, err := resolve(reflect.TypeFor[C](), path)
	r.broken = err
	r.toC = func(*Pass, *M, *C) {}
	r.toM = func(p *Pass, from *C, _ *M) { p.refuseBut(value, s, reflect.ValueOf(from), reason) }
	return r
}

func (p *Pass) refuseBut(pass string, s steps, from reflect.Value, reason string) {
	s.visit(from, func(path string, v reflect.Value) {
		if set(v) && fmt.Sprint(indirect(v).Interface()) != pass {
			p.Unsupported(path, v.Interface(), fmt.Sprintf("%s: set this field to %s", strings.TrimSuffix(reason, "."), pass))
		}
	})
}

// With returns the row with the lines of another table, which converts the elements of the row's lists. The given prefixes are put before the paths of these
// lines.
func (r Row[M, C]) With(lines []Line, machineAPI string, clusterAPI ...string) Row[M, C] {
	for _, l := range lines {
		l.MachineAPI, l.ClusterAPI = prefix([]string{machineAPI}, l.MachineAPI), prefix(clusterAPI, l.ClusterAPI)
		r.parts = append(r.parts, l)
	}
	return r
}

func prefix(with, paths []string) []string {
	var out []string
	for _, w := range with {
		for _, p := range paths {
			out = append(out, join(w, p))
		}
	}
	return out
}

// ToClusterAPI converts m into c as far as possible. What does not convert is added to the pass's errors.
func (t Table[M, C]) ToClusterAPI(p *Pass, m *M, c *C) {
	for i := range t {
		if p.usable(t[i].broken) {
			t[i].toC(p, m, c)
		}
	}
}

// ToMachineAPI converts c into m as far as possible. What does not convert is added to the pass's errors.
func (t Table[M, C]) ToMachineAPI(p *Pass, c *C, m *M) {
	for i := range t {
		if p.usable(t[i].broken) {
			t[i].toM(p, c, m)
		}
	}
}

// Lines lists the table's rows. Behind each row are the lines that With added to it.
func (t Table[M, C]) Lines() []Line {
	var out []Line
	for _, r := range t {
		out = append(out, Line{MachineAPI: r.machineAPI, ClusterAPI: r.clusterAPI, Expressible: r.expressible, Note: r.note, Passes: r.passes})
		out = append(out, r.parts...)
	}
	return out
}

func spell(words []Word, sides func(Word) (string, string)) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		from, to := sides(w)
		out[from] = to
	}
	return out
}

// spelling returns a sentence that lists the words which the two APIs spell differently; "" if there are none.
func spelling(words []Word) string {
	var out []string
	for _, w := range words {
		if w.MachineAPI != w.ClusterAPI {
			out = append(out, w.MachineAPI+" becomes "+w.ClusterAPI)
		}
	}
	if out == nil {
		return ""
	}
	return strings.Join(out, ", ") + "."
}

// Elsewhere separates an object from a path, as in "Machine: spec.failureDomain". A row's path contains it if the field is not in the table's own type but in
// another object of the same side. The row reaches that object through its Pass.
const Elsewhere = ": "

// below returns those of a row's paths that are in the table's own type, below M or C. It leaves out the paths into other objects, which contain Elsewhere.
func below(paths []string) []string {
	var out []string
	for _, p := range paths {
		if !strings.Contains(p, Elsewhere) {
			out = append(out, p)
		}
	}
	return out
}
