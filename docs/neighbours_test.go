// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
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

// Each of the fifteen consequences names tests that there are, and one of them starts an API server: its package has a test that imports a control plane.
func TestConsequences(t *testing.T) {
	if len(consequences) != 15 {
		t.Errorf("%d consequences, want 15", len(consequences))
	}
	real := map[string]bool{}
	for i, c := range consequences {
		if c.sentence == "" || len(c.held) == 0 {
			t.Errorf("consequence %d says nothing, or nothing holds it", i+1)
		}
		onServer := false
		for _, h := range c.held {
			has := functions(filepath.Join("..", h.file))
			for _, name := range h.tests {
				if !strings.HasPrefix(name, "Test") || !slices.Contains(has, name) {
					t.Errorf("consequence %d: %s has no %s; it is in %v", i+1, h.file, name, filesWith("..", name))
				}
			}
			folder := filepath.Dir(h.file)
			if _, known := real[folder]; !known {
				real[folder] = startsAnAPIServer(t, folder)
			}
			onServer = onServer || real[folder]
		}
		if !onServer {
			t.Errorf("consequence %d is held by no test on an API server", i+1)
		}
	}
}

// startsAnAPIServer reports whether a test of the folder imports what starts one.
func startsAnAPIServer(t *testing.T, folder string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "/poundlock/test/embedded\"") || strings.Contains(string(text), "/poundlock/test/testcluster\"") {
			return true
		}
	}
	return false
}

// What the survey of writers has from documentation alone is marked wherever the page has it.
func TestWhatIsUnverifiedIsMarked(t *testing.T) {
	for _, writer := range []string{"HyperShift", "GitOps", "MTC", "garbage collector", "namespace controller", "storage version migrator", "kube-state-metrics", "Node labels by operators"} {
		items := 0
		for line := range strings.Lines(Neighbours()) {
			if who, _, found := strings.Cut(line, ":"); found && !strings.HasPrefix(line, " ") && strings.Contains(who, writer) {
				items++
				if !strings.Contains(who, "[u]") {
					t.Errorf("no [u] at %s: %s", writer, line)
				}
			}
		}
		if items == 0 {
			t.Errorf("the page has no item of %s", writer)
		}
	}
}
