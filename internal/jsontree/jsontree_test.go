// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/internal/jsontree"
)

func read(t *testing.T, text string) (v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLacking(t *testing.T) {
	loose := jsontree.Comparison{Same: func(at *jsontree.Path, wanted, live any) bool { return at.Through("loose") || wanted == live }}
	for _, c := range []struct {
		sentence     string
		how          jsontree.Comparison
		wanted, live string
		want         []string
	}{
		{"what is beyond counts for nothing", jsontree.Comparison{}, `{a: 1, m: {b: x}}`, `{a: 1.0, m: {b: x, c: y}, d: z}`, nil},
		{"another value, and none", jsontree.Comparison{}, `{b: 1, a: {c: 1}}`, `{b: 2, a: {}}`, []string{"a.c", "b"}},
		{"an object of which there is none is one place", jsontree.Comparison{}, `{a: {b: 1, c: 2}}`, `{}`, []string{"a"}},
		{"what is wanted empty may be absent", jsontree.Comparison{}, `{a: {}, l: []}`, `{}`, nil},
		{"unless it has to be there", jsontree.Comparison{Empty: true}, `{a: {}, l: [], m: {}}`, `{m: {}}`, []string{"a", "l"}},
		{"but is nothing else", jsontree.Comparison{}, `{a: {}, l: []}`, `{a: x, l: {b: 1}}`, []string{"a", "l"}},
		{"lists are compared item by item", jsontree.Comparison{}, `{l: [{a: 1}, {a: 2}]}`, `{l: [{a: 1, b: 1}, {a: 3}]}`, []string{"l[1].a"}},
		{"of another length they are one place", jsontree.Comparison{}, `{l: [1]}`, `{l: [1, 2]}`, []string{"l"}},
		{"items with names are found in a longer list", jsontree.Comparison{ByName: true}, `{l: [{name: b, a: 1}]}`, `{l: [{name: a}, {name: b, a: 1, c: 2}]}`, nil},
		{"and in another order", jsontree.Comparison{ByName: true}, `{l: [{name: b}, {name: a}]}`, `{l: [{name: a}, {name: b}]}`, nil},
		{"not where two have one name", jsontree.Comparison{ByName: true}, `{l: [{name: b}]}`, `{l: [{name: b}, {name: b}]}`, []string{"l"}},
		{"values may be equal by where they are", loose, `{a: 1, loose: [{b: 2}]}`, `{a: 2, loose: [{b: 3}]}`, []string{"a"}},
	} {
		wanted, live := read(t, c.wanted), read(t, c.live)
		var got []string
		for _, l := range c.how.Lacking(nil, wanted, live) {
			got = append(got, l.Path.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
		if c.how.Has(wanted, live) != (c.want == nil) {
			t.Errorf("%s: Has", c.sentence)
		}
	}
	lacks := jsontree.Comparison{}.Lacking((*jsontree.Path)(nil).At("spec"), read(t, `{l: [{a: 1}]}`), read(t, `{l: [{a: 2}]}`))
	if len(lacks) != 1 || lacks[0].Path.Unnumbered() != "spec.l[].a" || lacks[0].Path.String() != "spec.l[0].a" {
		t.Errorf("spelled %v", lacks)
	}
}
