// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package stories

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parts are the functions that call Long or Times for a test, which the Makefile then lists in PARTLY.
var parts = map[string]string{
	"surroundings": "TestMirror", "autoscales": "TestMirror", "refusedByServer": "TestMirror", "movesOwned": "TestMirror", "outlives": "TestMirror",
	"endsOwned": "TestMirror", "keptOnVSphere": "TestOnAnAPIServer", "twoSets": "TestOnAnAPIServer", "everyWriter": "TestOnAnAPIServer", "drawn": "TestPlanted", "rotateUnderReviews": "TestOnAnAPIServer",
}

// TestNoStoryIsLeftOut: `make proof WHAT=stories` finds a long story by the test that calls Long or Times, or in the Makefile's list.
func TestNoStoryIsLeftOut(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(string(regexp.MustCompile(`(?m)^PARTLY := (.*)$`).FindSubmatch(makefile)[1]), "|")
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "grep", "-l", `poundlock/test/stories"`, "--", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for file := range strings.FieldsSeq(string(out)) {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !callsLong(f) {
				continue
			}
			found++
			if name := f.Name.Name; !strings.HasPrefix(name, "Test") && !slices.Contains(listed, parts[name]) {
				t.Errorf("%s: %s calls stories.Long or Times, but no test that the Makefile finds: call it in the test, or add that to PARTLY and to parts", file, name)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d functions call stories.Long", found)
	}
}

// TestEachProofPlaysLongStories: a proof of a package with long stories that lacks -long passes, and has played nothing.
func TestEachProofPlaysLongStories(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(makefile)) {
		folder := regexp.MustCompile(`^\tgo test -count=.* (\./[a-z/]+) `).FindStringSubmatch(line)
		if folder == nil {
			continue
		}
		err := exec.CommandContext(t.Context(), "git", "-C", "../..", "grep", "-q", `poundlock/test/stories"`, "--", ":(glob)"+folder[1]+"/*_test.go").Run()
		if err != nil {
			continue
		}
		checked++
		if !strings.Contains(line, " -long ") {
			t.Errorf("the Makefile plays %s without -long, and so leaves its long stories out: %s", folder[1], strings.TrimSpace(line))
		}
	}
	if checked < 5 {
		t.Errorf("%d lines of the Makefile play a package with long stories", checked)
	}
}

func callsLong(f *ast.FuncDecl) (calls bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if ok {
			of, _ := s.X.(*ast.Ident)
			calls = calls || of != nil && of.Name == "stories" && (s.Sel.Name == "Long" || s.Sel.Name == "Times")
		}
		return true
	})
	return calls
}
