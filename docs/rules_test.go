// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

var update = flag.Bool("update", false, "write the generated pages")

// all are the rules of every document, in the order in which they answer.
func all() policies.Set { return slices.Concat(authority.Rules(), admission.Rules()) }

func TestRulesPage(t *testing.T) {
	want := Rules(all(), authority.Defaulters())
	if *update {
		if err := os.WriteFile("rules.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("rules.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("rules.md is not what the rules say; `go generate ./docs` writes it (-want +got):\n%s", diff)
	}
}

// A person who meets a rule's id in a message finds what it is, what to do and where it comes from.
func TestEveryRowIsWholeForTheReader(t *testing.T) {
	for _, r := range all() {
		if !strings.HasPrefix(r.ID, "authority/") && !strings.HasPrefix(r.ID, "controlplane/") || r.Description == "" || r.Remedy == "" ||
			r.Clause == "" || len(r.On) == 0 {
			t.Errorf("the row %q leaves something out", r.ID)
		}
	}
	for _, d := range authority.Defaulters() {
		if !strings.HasPrefix(d.ID, "authority/") || d.Description == "" || d.Clause == "" || len(d.On) == 0 {
			t.Errorf("the row %q leaves something out", d.ID)
		}
	}
}

// `explain`, the page and a search engine show one description without the one above it.
func TestEveryDescriptionStandsAlone(t *testing.T) {
	for _, r := range all() {
		for _, leans := range []string{"Nor ", "The same ", "So does ", "So is ", "It ", "They ", "There "} {
			if strings.HasPrefix(r.Description, leans) {
				t.Errorf("a description of %s begins with %q, which refers to the one above it: %s", r.ID, strings.TrimSpace(leans), r.Description)
			}
		}
	}
}

func TestStatesPage(t *testing.T) {
	want := States()
	if *update {
		if err := os.WriteFile("states.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("states.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("states.md is not what authority.Next says; `go generate ./docs` writes it (-want +got):\n%s", diff)
	}
}

func value(b box) string {
	value, _, _ := strings.Cut(b.id(), "_")
	return value
}

// The picture of four states has the arrows that the walk has between them, and no other.
func TestTheOverviewIsOfTheStates(t *testing.T) {
	walked := map[string]bool{}
	for _, e := range walk() {
		if e.from.current != e.to.current {
			walked[value(e.from)+" --> "+value(e.to)] = true
		}
	}
	drawn := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^    (\w+ --> \w+) :`).FindAllStringSubmatch(overview, -1) {
		drawn[m[1]] = true
	}
	if !maps.Equal(walked, drawn) {
		t.Errorf("walked %v, drawn %v", walked, drawn)
	}
}
