// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type left struct {
	Name  string   `json:"name"`
	Count *int32   `json:"count,omitempty"`
	Disks []disk   `json:"disks,omitempty"`
	Words []string `json:"words,omitempty"`
}

type disk struct {
	Size int64  `json:"size"`
	Only string `json:"only,omitempty"`
}

type right struct {
	Title *string `json:"title,omitempty"`
	Count int64   `json:"count,omitempty"`
	Hops  int64   `json:"hops,omitempty"`
}

var of Rows[left, right]

func complete() Table[left, right] {
	return Table[left, right]{
		of.Same("name", "title"),
		of.Same("count", "count"),
		of.OnlyMAPI("disks[].size", "no disks there"),
		of.OnlyMAPI("disks[].only", "no disks there"),
		of.OnlyMAPI("words", "no words there"),
		of.OnlyCAPIBeyond("hops", "1", "no hops here"),
	}
}

func TestATableNamesEveryFieldOnce(t *testing.T) {
	both := func(*Pass, *left, *right) {}
	back := func(*Pass, *right, *left) {}
	for sentence, c := range map[string]struct {
		table Table[left, right]
		want  []string
	}{
		"a complete table":                {complete(), nil},
		"a field without a row":           {slices.Delete(complete(), 3, 4), []string{"no row names the Machine API field disks[].only"}},
		"a field of the other side":       {complete()[:5], []string{"no row names the Cluster API field hops"}},
		"a field with two rows":           {append(complete(), of.OnlyMAPI("words", "again")), []string{"two rows name the Machine API field words"}},
		"a path that does not exist":      {append(complete(), of.OnlyMAPI("nmae", "misspelt")), []string{`conversion.left has no JSON field "nmae" (path nmae)`}},
		"a word that is to be a number":   {append(complete(), of.Same("name", "hops")), []string{"name (string) and hops (int64) cannot be the same", "two rows name the Machine API field name", "two rows name the Cluster API field hops"}},
		"a subtree that is not converted": {append(slices.Delete(complete(), 2, 4), of.OnlyMAPI("disks.*", "no disks there")), nil},
		"a subtree that converts":         {append(slices.Delete(complete(), 2, 4), of.Iso(At("disks.*"), nil, "", both, back)), []string{"row [disks.*] [] converts, so it may not end in .*"}},
		"a single direction":              {append(slices.Delete(complete(), 4, 5), of.Iso(At("words"), nil, "", both, nil)), []string{"row [words] lacks a direction"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if d := cmp.Diff(c.want, Uncovered(c.table)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestARowConvertsOrNamesItsPath(t *testing.T) {
	table := complete()
	for sentence, c := range map[string]struct {
		from left
		want right
		errs []string
	}{
		"values":               {left{Name: "x", Count: new(int32(2))}, right{Title: new("x"), Count: 2}, nil},
		"nothing":              {left{}, right{}, nil},
		"an explicit zero":     {left{Count: new(int32(0))}, right{}, []string{"spec.count"}},
		"an empty list":        {left{Words: []string{}, Disks: []disk{}}, right{}, nil},
		"the second of a list": {left{Disks: []disk{{}, {Size: 1, Only: "x"}}}, right{}, []string{"spec.disks[1].size", "spec.disks[1].only"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got right
			p := NewPass(&Env{}, &Core{}, "spec")
			table.ToClusterAPI(p, &c.from, &got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			hold(t, c.errs, p)
		})
	}
	for sentence, c := range map[string]struct {
		from right
		want left
		errs []string
	}{
		"a default that passes":       {right{Hops: 1}, left{}, nil},
		"any other value":             {right{Hops: 2}, left{}, []string{"spec.hops"}},
		"a number beyond 32 bits":     {right{Count: 1 << 32}, left{}, []string{"spec.count"}},
		"an empty word, explicitly":   {right{Title: new("")}, left{}, nil},
		"a number that fits, and all": {right{Title: new("x"), Count: 5}, left{Name: "x", Count: new(int32(5))}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got left
			p := NewPass(&Env{}, &Core{}, "spec")
			table.ToMachineAPI(p, &c.from, &got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			hold(t, c.errs, p)
		})
	}
}

func TestDecodingNamesWhatItDoesNotKnow(t *testing.T) {
	for sentence, c := range map[string]struct {
		raw  string
		errs []string
	}{
		"known fields":    {`{"name": "x", "disks": [{"size": 1}]}`, nil},
		"an unknown one":  {`{"name": "x", "disks": [{"size": 1}, {"sise": 1}]}`, []string{"spec.disks[1].sise"}},
		"an empty one":    {`{"disks": [{"sise": ""}], "former": null, "old": {}, "older": []}`, nil},
		"zero":            {`{"sise": 0, "so": false}`, []string{"spec.sise", "spec.so"}},
		"both cases":      {`{"name": "x", "Name": "x"}`, []string{"spec.Name"}},
		"two other cases": {`{"NAME": "x", "Name": "x"}`, []string{"spec.NAME", "spec.Name"}},
		"one given twice": {`{"name": "x", "name": "y"}`, []string{"spec.name"}},
		"another type":    {`{"count": "x"}`, []string{"spec.count"}},
		"not an object":   {`[]`, []string{"spec"}},
		"not JSON":        {`{`, []string{"spec"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := NewPass(&Env{}, &Core{}, "spec")
			p.Decode([]byte(c.raw), &left{})
			hold(t, c.errs, p)
		})
	}
}

// A message has what a pointer points to, and shortens a text that fills the screen.
func TestValuesOfMessages(t *testing.T) {
	p := NewPass(&Env{}, &Core{}, "spec")
	n, none := 3, (*string)(nil)
	type word string
	for _, value := range []any{&n, "x", word("y"), none, nil, []string{"a"}, strings.Repeat("é", 1<<19)} {
		p.Unsupported("field", value, "why")
	}
	var got []any
	for _, e := range p.Errors() {
		got = append(got, e.BadValue)
	}
	omitted := field.OmitValueType{}
	if d := cmp.Diff([]any{3, "x", word("y"), omitted, omitted, omitted, strings.Repeat("é", 128) + " …"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// All decoders of the Machine API accept a member's name in any case.
func TestDecodingInAnyCase(t *testing.T) {
	type inner struct {
		Size  int               `json:"size"`
		Notes map[string]string `json:"notes"`
	}
	type outer struct {
		inner `json:",inline"`
		Name  string `json:"name"`
		Own   *inner `json:"own"`
		List  []inner
		Any   any               `json:"any"`
		Price resource.Quantity `json:"price"`
	}
	got := outer{Any: &inner{}}
	p := NewPass(&Env{}, &Core{}, "spec")
	if !p.Decode([]byte(
		`{"SIZE": 1, "Name": "x", "oWn": {"Size": 12345678901234567, "notes": {"A": "a", "a": "b"}}, "list": [{"Size": 2}], "any": {"sIze": 3}, "Price": "1Gi"}`),
		&got) || len(p.Errors()) > 0 {
		t.Fatal(p.Errors())
	}
	want := outer{inner: inner{Size: 1}, Name: "x", Own: &inner{Size: 12345678901234567, Notes: map[string]string{"A": "a", "a": "b"}}, List: []inner{{Size: 2}},
		Any: &inner{Size: 3}, Price: resource.MustParse("1Gi")}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(outer{}, inner{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDecodingNamesWhatReadsItself: a type with its own decoder does not know its path.
func TestDecodingNamesWhatReadsItself(t *testing.T) {
	type part struct {
		Size resource.Quantity `json:"size"`
	}
	type whole struct {
		part  `json:",inline"`
		List  []part `json:"list"`
		Part  *part  `json:"part"`
		Any   any    `json:"any"`
		Bytes []byte `json:"bytes"`
	}
	for sentence, c := range map[string]struct {
		raw  string
		errs []string
	}{
		"a quantity":                       {`{"size": "5Gi", "list": [{"size": 5}], "part": {"size": "1"}, "any": {"size": "1"}}`, nil},
		"one that is none":                 {`{"list": [], "size": "x"}`, []string{"spec.size"}},
		"one in a list":                    {`{"size": "1", "list": [{}, {"size": "x"}]}`, []string{"spec.list[1].size"}},
		"one behind a pointer":             {`{"part": {"size": "x"}}`, []string{"spec.part.size"}},
		"one behind an interface":          {`{"any": {"size": "x"}}`, []string{"spec.any.size"}},
		"bytes that are none":              {`{"bytes": "%"}`, []string{"spec.bytes"}},
		"an object that is none, and more": {`{"size": "x"`, []string{"spec"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := NewPass(&Env{}, &Core{}, "spec")
			p.Decode([]byte(c.raw), &whole{Any: &part{}})
			hold(t, c.errs, p)
		})
	}
}

func TestEncodingLeavesOutWhatMeansNothing(t *testing.T) {
	type inner struct {
		List []string `json:"list"`
	}
	type outer struct {
		Struct  inner    `json:"struct"`
		Pointer *inner   `json:"pointer"`
		Empty   *inner   `json:"empty"`
		Items   []inner  `json:"items"`
		Words   []string `json:"words"`
		Word    string   `json:"word"`
	}
	got, err := Encode(&outer{Empty: &inner{}, Items: []inner{{}}, Words: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"empty": map[string]any{}, "items": []any{map[string]any{}}, "words": []any{}, "word": ""}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func hold(t *testing.T, want []string, p *Pass) {
	t.Helper()
	var got []string
	for _, e := range p.Errors() {
		got = append(got, e.Field)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s\n%v", d, p.Errors().ToAggregate())
	}
}
