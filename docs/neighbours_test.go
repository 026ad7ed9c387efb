// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestNeighboursPage(t *testing.T) {
	want := Neighbours()
	if *update {
		if err := os.WriteFile("neighbours.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("neighbours.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("neighbours.md is not what the rows say; `go generate ./docs` writes it (-want +got):\n%s", diff)
	}
}

// A row names a rule that there is, and what is refused names one.
func TestEveryNeighbourNamesItsRule(t *testing.T) {
	for _, o := range authority.Others() {
		known := slices.ContainsFunc(all(), func(r policies.Rule) bool { return r.ID == o.Rule }) ||
			slices.ContainsFunc(authority.Defaulters(), func(d policies.Defaulter) bool { return d.ID == o.Rule })
		if o.Rule != "" && !known || o.Rule == "" && o.Treatment != authority.LetThrough {
			t.Errorf("%s, %s: no rule is called %q", o.Writer, o.Writes, o.Rule)
		}
		if o.Why == "" || o.Writes == "" {
			t.Errorf("the row of %s leaves something out", o.Writer)
		}
	}
}

// What the survey of writers has from documentation alone is marked wherever the page has it.
func TestWhatIsUnverifiedIsMarked(t *testing.T) {
	for _, writer := range []string{"HyperShift", "GitOps", "MTC", "garbage collector", "namespace controller", "storage version migrator", "kube-state-metrics", "Node labels by operators"} {
		rows := 0
		for line := range strings.Lines(Neighbours()) {
			if cells := strings.Split(line, "|"); len(cells) > 2 && strings.Contains(cells[1], writer) {
				rows++
				if !strings.Contains(cells[1], "[u]") {
					t.Errorf("no [u] at %s: %s", writer, line)
				}
			}
		}
		if rows == 0 {
			t.Errorf("the page has no row of %s", writer)
		}
	}
}
