// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A row of moved-tests.md leads to a function that exists.
func TestMovedTests(t *testing.T) {
	page, err := os.ReadFile("moved-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	if rows := len(movedTests(string(page))); rows < 160 {
		t.Fatalf("the table of moved-tests.md has %d tests: is it still read as it is written?", rows)
	}
	for _, problem := range wrongMoves("..", movedTests(string(page))) {
		t.Error(problem)
	}
}

// What TestMovedTests refuses, and beside it what it allows.
func TestWrongMoves(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"new/a_test.go": "package a\nfunc TestStays() {}\nfunc (x T) TestMethod() {}\n// func TestGone() {}\n",
		"new/b_test.go": "package a\nfunc TestElsewhere() {}\n",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for row, want := range map[string]string{
		"| `old/a_test.go` | `new/a_test.go` | `TestStays` |":                     "",
		"| `old/a_test.go` | `new/a_test.go` | `TestStays` (was `TestGone`) |":    "",
		"| `old/a_test.go` | `new/a_test.go` | `TestStays`, `TestGone` |":         "TestGone is nowhere",
		"| `old/a_test.go` | `new/a_test.go` | `TestMethod` |":                    "TestMethod is nowhere",
		"| `old/a_test.go` | `new/a_test.go` | `TestElsewhere` |":                 "TestElsewhere is in new/b_test.go",
		"| `old/a_test.go` | `new/gone_test.go` | `TestStays` |":                  "TestStays is in new/a_test.go",
		"| `old/a_test.go` | `new/a_test.go` | `TestStays` |\n| `x` | `y` | 2 |":  "no test",
		"| `old/a_test.go` | `old/a_test.go` | `TestGone` (was `TestLongGone`) |": "TestGone is nowhere",
	} {
		got := strings.Join(wrongMoves(root, movedTests(row)), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
}

// movedTest is one function of a row of moved-tests.md. Its name is empty where the row names none.
type movedTest struct{ row, file, name string }

// movedTests returns what the rows of the page name, without the names that functions had before.
func movedTests(page string) []movedTest {
	var out []movedTest
	name := regexp.MustCompile("(was )?`(\\w+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| `[^`]+` \\| `([^`]+)` \\| (.*) \\|$").FindAllStringSubmatch(page, -1) {
		before := len(out)
		for _, match := range name.FindAllStringSubmatch(row[2], -1) {
			if match[1] == "" {
				out = append(out, movedTest{row[0], row[1], match[2]})
			}
		}
		if len(out) == before {
			out = append(out, movedTest{row: row[0], file: row[1]})
		}
	}
	return out
}

// wrongMoves returns a sentence for each function that the file of its row does not have, with the files below root that have it.
func wrongMoves(root string, tests []movedTest) []string {
	var problems []string
	has := map[string][]string{}
	for _, test := range tests {
		if _, read := has[test.file]; !read {
			has[test.file] = functions(filepath.Join(root, test.file))
		}
		switch {
		case test.name == "":
			problems = append(problems, "this row of moved-tests.md names no test: "+test.row)
		case slices.Contains(has[test.file], test.name):
		default:
			is := "nowhere: write what became of it"
			if files := filesWith(root, test.name); len(files) > 0 {
				is = "in " + strings.Join(files, ", ") + ": correct the row"
			}
			problems = append(problems, "moved-tests.md: "+test.file+" has no "+test.name+"; "+test.name+" is "+is)
		}
	}
	return problems
}

// functions returns the names of a file's functions, without methods. A file that is not there has none.
func functions(path string) []string {
	var names []string
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// filesWith returns the test files below root that declare a function of this name.
func filesWith(root, name string) []string {
	var files []string
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") && slices.Contains(functions(path), name) {
			relative, _ := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(relative))
		}
		return nil
	})
	return files
}
