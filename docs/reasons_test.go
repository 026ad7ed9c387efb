// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A person who reads a reason in a condition at three in the morning finds it in the runbooks. The sources say which there are.
func TestEveryReasonHasARunbook(t *testing.T) {
	page, err := os.ReadFile("runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for pattern, says := range map[string]*regexp.Regexp{
		"../policies/authority/next.go":         regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`),
		"../reconcilers/handoff/handoff.go":     regexp.MustCompile(`const reason\w+ = "(\w+)"`),
		"../reconcilers/mirror/*.go":            regexp.MustCompile(`(?:\.fails\(s, |\breason\w+ += )"(\w+)"`),
		"../policies/controlplane/generate*.go": regexp.MustCompile(` Reason += "(\w+)"`),
		"../reconcilers/generate/*.go":          regexp.MustCompile(`\breason\w+ += "(\w+)"`),
	} {
		found := 0
		for _, file := range sources(t, pattern) {
			for _, m := range says.FindAllStringSubmatch(file, -1) {
				found++
				if !strings.Contains(string(page), "`"+m[1]+"`") {
					t.Errorf("runbooks.md does not say what to do about the reason %s of %s", m[1], pattern)
				}
			}
		}
		if found == 0 {
			t.Errorf("no reason was found in %s: has the code moved?", pattern)
		}
	}
}

func sources(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}
