// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// made is what make would run, or its error.
func made(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"-n", "-C", "../..", "--no-print-directory"}, args...)...)
	// Not what a make around this test was given.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=") })
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// A platform in lower case is the one that is played, and a name that make would pass over in silence is refused.
func TestWhatMakeIsGiven(t *testing.T) {
	for sentence, c := range map[string]struct {
		args    string
		want    string
		refused bool
	}{
		"no platform":                {args: "run", want: "--platform=aws"},
		"a platform":                 {args: "run PLATFORM=azure", want: "--platform=azure"},
		"a platform in lower case":   {args: "run platform=azure", want: "--platform=azure"},
		"a misspelt platform":        {args: "run PLATFROM=azure", want: "PLATFROM: there is no such variable", refused: true},
		"another case":               {args: "run Platform=azure", want: "Platform: there is no such variable", refused: true},
		"no manager":                 {args: "run MANAGER=off", want: "--manager=false"},
		"a manager that is no":       {args: "run MANAGER=no", want: "MANAGER is on or off, and not no", refused: true},
		"the platforms of a proof":   {args: "proof-platforms ON=azure,gcp CONTROL_PLANE=3", want: "-on=azure,gcp -control-plane=3"},
		"variables of Go, and shell": {args: "run GOFLAGS=-p=1 CGO_ENABLED=0", want: "--platform=aws"},
	} {
		out, ok := made(t, strings.Fields(c.args)...)
		if ok == c.refused || !strings.Contains(out, c.want) {
			t.Errorf("%s: refused: %t, want %q in\n%s", sentence, !ok, c.want, out)
		}
	}
}

// What pages and the Makefile itself say to give, and what its recipes read, is in its list of what may be given.
func TestMakeTakesWhatIsWritten(t *testing.T) {
	raw, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	makefile := string(raw)
	given := strings.Fields(regexp.MustCompile(`(?m)^GIVEN := (.*)$`).FindStringSubmatch(makefile)[1])
	own := regexp.MustCompile(`(?m)^(?:export )?([A-Za-z_]+) (?::=|\?=|=) `).FindAllStringSubmatch(makefile, -1)
	set := slices.Clone(given)
	for _, m := range own {
		set = append(set, m[1])
	}
	for _, m := range regexp.MustCompile(`(?:^|[^$])\$[({]([A-Za-z_]+)[)}]`).FindAllStringSubmatch(makefile, -1) {
		if !slices.Contains(set, m[1]) && !slices.Contains([]string{"MAKE", "MAKEFILE_LIST", "comma"}, m[1]) {
			t.Errorf("a recipe reads %s, which make refuses: add it to GIVEN", m[1])
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../Makefile") {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range regexp.MustCompile(`\bmake [a-z]+(?: [A-Za-z_]+=[^\s`+"`"+`]*)+`).FindAllString(string(raw), -1) {
			for _, m := range regexp.MustCompile(` ([A-Za-z_]+)=`).FindAllStringSubmatch(command, -1) {
				if seen++; !slices.Contains(given, m[1]) {
					t.Errorf("%s: %s: make refuses %s: add it to GIVEN", page, command, m[1])
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d variables are in commands", seen)
	}
}
