// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"slices"
	"testing"

	"github.com/poundlock/poundlock/conversion"
)

// TestOfControlPlane: the answer is the same for whichever Machine, so that one command for the infrastructure cluster is enough for all of them.
func TestOfControlPlane(t *testing.T) {
	master := func(name string, entries ...any) conversion.Master {
		return conversion.Master{Name: name, ProviderSpec: map[string]any{"list": entries}}
	}
	for sentence, c := range map[string]struct {
		known []conversion.Master
		// own are the entries of the Machine m, or of a template.
		own      []string
		template bool
		want     []string
	}{
		"a Machine seen alone":                        {own: []string{"b", "a"}, want: []string{"b", "a"}},
		"the first of them":                           {known: []conversion.Master{master("m", "b"), master("n", "a")}, own: []string{"b"}, want: []string{"b", "a"}},
		"the last of them":                            {known: []conversion.Master{master("l", "b"), master("m", "a")}, own: []string{"a"}, want: []string{"b", "a"}},
		"what it has now counts, not what it had":     {known: []conversion.Master{master("m", "old"), master("n", "a")}, own: []string{"b"}, want: []string{"b", "a"}},
		"a Machine that is being created":             {known: []conversion.Master{master("l", "b")}, own: []string{"a"}, want: []string{"b", "a"}},
		"all have the same":                           {known: []conversion.Master{master("l", "a", "b"), master("m", "a", "b")}, own: []string{"a", "b"}, want: []string{"a", "b"}},
		"a template":                                  {known: []conversion.Master{master("l", "a"), master("m", "b")}, own: []string{"b"}, template: true, want: []string{"a", "b"}},
		"one that has no such list":                   {known: []conversion.Master{{Name: "l"}, master("m", "b")}, own: []string{"b"}, want: []string{"b"}},
		"one whose list holds something else than it": {known: []conversion.Master{master("l", 1, true)}, own: []string{"b"}, want: []string{"b"}},
	} {
		core := &conversion.Core{ControlPlane: true, Name: "m"}
		if c.template {
			core = &conversion.Core{ControlPlane: true, Template: true}
		}
		p := conversion.NewPass(&conversion.Env{ControlPlane: c.known}, core, "")
		if got := conversion.OfControlPlane(p, "list", c.own); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}
