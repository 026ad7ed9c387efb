// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// tree is a document as encoding/json reads it, with its names in order.
type tree struct {
	form   json.Delim // '{', '[', or 0
	scalar any
	names  []string
	items  []*tree
}

func parse(d *json.Decoder) (*tree, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, container := token.(json.Delim)
	if !container {
		return &tree{scalar: token}, nil
	}
	t := &tree{form: delim}
	for d.More() {
		if delim == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			t.names = append(t.names, name.(string))
		}
		item, err := parse(d)
		if err != nil {
			return nil, err
		}
		t.items = append(t.items, item)
	}
	_, err = d.Token()
	return t, err
}

func parsed(b []byte) (out []*tree, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		t, err := parse(d)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
}

func (t *tree) String() string {
	var b strings.Builder
	switch t.form {
	case 0:
		fmt.Fprintf(&b, "%#v", t.scalar)
	default:
		b.WriteByte(byte(t.form))
		for i, item := range t.items {
			if t.form == '{' {
				fmt.Fprintf(&b, "%q:", t.names[i])
			}
			b.WriteString(item.String() + ",")
		}
	}
	return b.String()
}

func (t *tree) duplicates() bool {
	for i, n := range t.names {
		if slices.Contains(t.names[:i], n) {
			return true
		}
	}
	return slices.ContainsFunc(t.items, (*tree).duplicates)
}

// hop is one step of the way to a value: by a name or into a list, from a container whose kind is known so far.
type hop struct {
	name string
	list bool
	kind string
}

// leads says whether a pattern leads exactly there, by trying each way.
func leads(steps []segment, way []hop, kind string) bool {
	if len(steps) == 0 {
		return len(way) == 0
	}
	s, rest := steps[0], steps[1:]
	if s.form == ofKind {
		if len(way) > 0 {
			kind = way[0].kind
		}
		return kind == s.name && leads(rest, way, kind)
	}
	if s.form == depth {
		return leads(rest, way, kind) || len(way) > 0 && leads(steps, way[1:], kind)
	}
	if len(way) == 0 {
		return false
	}
	h := way[0]
	switch s.form {
	case member:
		return !h.list && h.name == s.name && leads(rest, way[1:], kind)
	case element:
		return h.list && leads(rest, way[1:], kind)
	case anyName:
		return !h.list && leads(rest, way[1:], kind)
	}
	return false
}

// oracle does slowly, by the definition of the table, what the Scanner does.
type oracle struct {
	d        Direction
	frames   bool
	patterns []pattern
}

// rewrite translates a tree, and says which container's element it hides, by depth (0: the frame, -1: none).
func (o oracle) rewrite(t *tree, way []hop, kind string) int {
	hides := -1
	if text, ok := t.scalar.(string); ok {
		if p := o.row(way, kind); p != nil {
			if out, changed := o.d.value(nil, []byte(text), p.value); changed {
				t.scalar = string(out)
			}
			hides = o.hides(p, way, text)
		}
	}
	kind = ""
	first := true
	for i := 0; i < len(t.items); i++ {
		h := hop{list: t.form == '[', kind: kind}
		name := ""
		if !h.list {
			name = t.names[i]
			h.name = name
		}
		next := append(slices.Clone(way), h)
		inner := -1
		if p := o.names(next); !h.list && p != nil {
			if out, changed := o.d.value(nil, []byte(name), p.value); changed {
				t.names[i] = string(out)
			}
			if _, platform := ToPrivate.value(nil, []byte(name), p.value); platform && p.hide && o.d == ToStandard {
				inner = len(way)
			}
		}
		if deeper := o.rewrite(t.items[i], next, kind); inner < 0 {
			inner = deeper
		}
		if text, ok := t.items[i].scalar.(string); ok && first && name == "kind" && o.d == ToStandard && (text == "Status" || text == "Table") {
			kind = text
		}
		first = false
		switch {
		case inner == len(way) && (len(way) > 0 || !o.frames || h.list):
			t.items = slices.Delete(t.items, i, i+1)
			if t.form == '{' {
				t.names = slices.Delete(t.names, i, i+1)
			}
			i--
		case inner >= 0:
			hides = inner
		}
	}
	return hides
}

func (o oracle) hides(p *pattern, way []hop, text string) int {
	if _, platform := ToPrivate.value(nil, []byte(text), p.value); !platform || !p.hide || o.d != ToStandard {
		return -1
	}
	for i := len(way) - 1; i >= 0; i-- {
		if way[i].list {
			return i
		}
	}
	if o.frames {
		return 0
	}
	return -1
}

// row is the row of a value, unless it is in what is never translated.
func (o oracle) row(way []hop, kind string) *pattern {
	for k := range len(way) + 1 {
		found, never := (*pattern)(nil), false
		for i := range o.patterns {
			p := &o.patterns[i]
			if p.segments[len(p.segments)-1].form == names || !leads(p.segments, way[:k], kind) {
				continue
			}
			if p.never {
				never = true
			} else {
				found = p
			}
		}
		if never && found == nil {
			return nil
		}
		if k == len(way) {
			return found
		}
	}
	return nil
}

func (o oracle) names(way []hop) *pattern {
	if len(way) > 1 && o.row(way[:len(way)-1], "") == nil && o.never(way[:len(way)-1]) {
		return nil
	}
	for i := range o.patterns {
		if p := &o.patterns[i]; p.segments[len(p.segments)-1].form == names && leads(p.segments[:len(p.segments)-1], way[:len(way)-1], "") {
			return p
		}
	}
	return nil
}

func (o oracle) never(way []hop) bool {
	for k := range len(way) + 1 {
		for i := range o.patterns {
			if p := &o.patterns[i]; p.never && leads(p.segments, way[:k], "") {
				return true
			}
		}
	}
	return false
}

// check holds a Scanner against encoding/json: what is valid, what is translated, and that the size of the pieces makes no difference.
func check(t *testing.T, d Direction, doc Document, s shape, body []byte, piece int) {
	t.Helper()
	scanner, frames := NewScanner(d, doc), s == framed
	switch s {
	case listed:
		scanner = NewListScanner(d, doc)
	case framed:
		scanner = NewFrameScanner(d, doc)
	}
	out, err := inPieces(scanner, body, piece)
	whole, failed := inPieces(scanner, body, len(body))
	if (err == nil) != (failed == nil) || err == nil && !bytes.Equal(out, whole) {
		t.Fatalf("pieces of %d bytes make a difference:\n%q %v\n%q %v", piece, out, err, whole, failed)
	}
	trees, invalid := parsed(body)
	if !frames && (err == nil) != json.Valid(body) || frames && err == nil && invalid != nil {
		t.Fatalf("%q: %v, json.Valid %v, %v", body, err, json.Valid(body), invalid)
	}
	if err != nil {
		return
	}
	got, err := parsed(out)
	if err != nil {
		t.Fatalf("%q became %q: %v", body, out, err)
	}
	if slices.ContainsFunc(trees, (*tree).duplicates) {
		return // encoding/json takes the last, and the order decides what a kind is
	}
	o := oracle{d, frames, patterns(doc, s)}
	var want []*tree
	for _, tree := range trees {
		if hides := o.rewrite(tree, nil, ""); hides < 0 {
			want = append(want, tree)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%q became\n%v\nwant\n%v", body, got, want)
	}
	if !slices.ContainsFunc([]string{Standard, Private, Foreign, "io.x-k8s", "io.openshift", `\`},
		func(s string) bool { return bytes.Contains(body, []byte(s)) }) && !bytes.Equal(out, body) {
		t.Fatalf("%q has nothing to translate and became %q", body, out)
	}
}

func inPieces(s *Scanner, body []byte, piece int) (out []byte, err error) {
	s.Reset()
	for at := 0; at < len(body) && err == nil; at += piece {
		out, err = s.Append(out, body[at:min(at+piece, len(body))])
	}
	if err == nil {
		out, err = s.Finish(out)
	}
	return out, err
}

// random makes documents of the names that the table has, with every name of a group in every place.
type random struct{ *rand.Rand }

func (r random) pick(of []string) string { return of[r.IntN(len(of))] }

var (
	someNames = func() []string {
		out := []string{"x", "", "kind", "spec", "f:apiVersion", `a\"b`, `\u0061piVersion`}
		for doc := range documents {
			for _, p := range append(patterns(doc, framed), patterns(doc, listed)...) {
				for _, s := range p.segments {
					if s.form == member {
						out = append(out, s.name)
					}
				}
			}
		}
		return out
	}()
	someText = []string{
		"", "Status", "Table", "v1", "apps/v1", "cluster.x-k8s.io/v1beta2", "cluster.hypershift.openshift.io/v1beta2",
		Foreign + "/v1", "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.hypershift.openshift.io",
		"machines.cluster.x-k8s.io", "machines.cluster.hypershift.openshift.io",
		"operator.cluster.x-k8s.io", `machines.cluster.hypershift.openshift.io \"m\" not found`, `a\\b\n\u00e9\ud83d\ude00`,
		"/apis/cluster.hypershift.openshift.io/v1", "apis/cluster.x-k8s.io/v1", "io.openshift.hypershift.cluster.v1.M",
		"#/components/schemas/io.openshift.hypershift.cluster.v1.M", `cluster\u002ex-k8s.io\/v1`, "é",
	}
	scalars = []string{"0", "-1", "12", "1.5e+3", "true", "false", "null", "7"}
	blanks  = []string{"", "", "", "", " ", "\n  ", "\t\r\n"}
)

// along is a document in which a pattern leads to text, with random neighbours.
func (r random) along(p []segment, levels int) string {
	if len(p) == 0 {
		return r.value(levels, nil)
	}
	return r.value(levels, p)
}

func (r random) value(levels int, p []segment) string {
	for len(p) > 0 && (p[0].form == ofKind || p[0].form == depth && r.IntN(2) == 0) {
		p = p[1:]
	}
	form := r.IntN(4)
	switch {
	case len(p) > 0 && p[0].form == element:
		form = 1
	case len(p) > 0 && p[0].form != depth:
		form = 0
	case levels <= 0 || len(p) == 0 && r.IntN(2) == 0:
		form = 2 + r.IntN(4)
	}
	var parts []string
	for range r.IntN(4) {
		switch form {
		case 0:
			parts = append(parts, `"`+r.pick(someNames)+`"`+r.pick(blanks)+":"+r.pick(blanks)+r.value(levels-1, nil))
		case 1:
			parts = append(parts, r.value(levels-1, p[min(1, len(p)):]))
		}
	}
	if form == 0 && len(p) > 0 {
		name, rest := p[0].name, p[1:]
		switch p[0].form {
		case depth:
			name, rest = r.pick(someNames), p
		case names, anyName:
			name = r.pick(someText)
		}
		parts = slices.Insert(parts, r.IntN(len(parts)+1), `"`+name+`":`+r.value(levels-1, rest))
	}
	switch form {
	case 0:
		if r.IntN(3) == 0 {
			parts = slices.Insert(parts, 0, `"kind":"`+r.pick([]string{"Status", "Table", "Machine"})+`"`)
		}
		return "{" + r.pick(blanks) + strings.Join(parts, r.pick(blanks)+","+r.pick(blanks)) + r.pick(blanks) + "}"
	case 1:
		return "[" + r.pick(blanks) + strings.Join(parts, r.pick(blanks)+","+r.pick(blanks)) + r.pick(blanks) + "]"
	case 2:
		return r.pick(scalars)
	}
	return `"` + r.pick(someText) + `"`
}

func TestAgainstEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := random{rand.New(rand.NewPCG(seed, 0))}
	for range 4000 {
		doc, form, d := Document(r.IntN(int(documents))), shape(r.IntN(int(operation))), Direction(r.IntN(2))
		all := patterns(doc, []shape{listed, listed, framed}[form]) // a list that was not asked for as one, too
		body := r.along(all[r.IntN(len(all))].segments, 6)
		if r.IntN(10) == 0 { // damage it
			at := r.IntN(len(body) + 1)
			body = body[:at] + r.pick([]string{"", "x", `"`, "{", "]", ",", "\x00", "\\"}) + body[min(len(body), at+r.IntN(3)):]
		}
		check(t, d, doc, form, []byte(body), 1+r.IntN(7))
	}
}

// Whatever a client reads it can write back, as long as the store has no standard name in what is the client's own.
func TestRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := random{rand.New(rand.NewPCG(seed, 0))}
	for range 2000 {
		doc := []Document{Objects, ClusterAPI, Definitions, Events, AccessReviews, ConversionReviews}[r.IntN(6)]
		all := patterns(doc, listed)
		body := r.along(all[r.IntN(len(all))].segments, 6)
		body = strings.NewReplacer("cluster.x-k8s.io", Private, `cluster\u002ex-k8s.io`, Private).Replace(body)
		if strings.Contains(body, `"Status"`) || strings.Contains(body, `"Table"`) || strings.Contains(body, `"result"`) || strings.Contains(body, `\`) {
			continue // nobody writes a Status, a Table or a converter's answer, and an escape comes back only if nothing is translated
		}
		read := must(t, NewScanner(ToStandard, doc), body)
		if back := must(t, NewScanner(ToPrivate, doc), read); back != body {
			t.Fatalf("%s\nis read as\n%s\nand written back as\n%s", body, read, back)
		}
	}
	owner := `{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2"}]}}`
	if back := must(t, NewScanner(ToPrivate, Objects), must(t, NewScanner(ToStandard, Objects), owner)); back != owner {
		t.Errorf("the platform's owner came back as %s", back)
	}
}

func FuzzScanner(f *testing.F) {
	for doc := range documents {
		for _, p := range patterns(doc, listed) {
			for d, value := range examples[p.value] {
				f.Add(uint8(d), uint8(doc), uint8(single), uint8(3), []byte(smallest(p.segments, value)))
				f.Add(uint8(d), uint8(doc), uint8(listed), uint8(3), []byte(smallest(p.segments, value)))
				f.Add(uint8(d), uint8(doc), uint8(framed), uint8(3), []byte(`{"type":"ADDED","object":`+smallest(p.segments, value)+"}\n"))
			}
		}
	}
	f.Add(uint8(1), uint8(1), uint8(single), uint8(9), []byte(machine(1)))
	f.Fuzz(func(t *testing.T, d, doc, form, piece uint8, body []byte) {
		check(t, Direction(d%2), Document(doc%uint8(documents)), shape(form%uint8(operation)), []byte(strings.ToValidUTF8(string(body), "?")), 1+int(piece))
	})
}

// smallest is the smallest document of a pattern.
func smallest(s []segment, value string) string {
	leaf, _ := json.Marshal(value)
	out := string(leaf)
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i].form {
		case element:
			out = "[" + out + "]"
		case names:
			out = "{" + string(leaf) + ":{}}"
		case anyName, depth:
			out = `{"any":` + out + `}`
		case ofKind:
			out = fmt.Sprintf(`{"kind":%q,`, s[i].name) + strings.TrimPrefix(out, "{")
		default:
			out = fmt.Sprintf(`{%q:%s}`, s[i].name, out)
		}
	}
	return out
}
