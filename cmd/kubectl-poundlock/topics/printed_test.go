// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package topics_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
)

// printed are the reasons, events and conditions in a tree's sources, each with one place. It finds a string constant by its name or type, the value of a
// member, and a function's argument by the name of its parameter, so that moved code is found too.
type printed struct {
	set   *token.FileSet
	found map[string]string
	// takes are the positions of such arguments, by function or method of a package's folder.
	takes map[string][]int
	files map[string][]*ast.File
}

var (
	// about matches the names of what has such a text.
	about = regexp.MustCompile(`(?i)reason|^cause|^event$|^condition`)
	// camel matches such a text. A single word, such as Failed, may be anything.
	camel = regexp.MustCompile(`^[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]+$`)
)

func (p *printed) read(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && path != root && (name == "test" || name == "testdata" || name == "tools" || strings.HasSuffix(name, "test") || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(p.set, path, nil, parser.SkipObjectResolution)
		p.files[filepath.Dir(path)] = append(p.files[filepath.Dir(path)], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, files := range p.files {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool { p.declared(folder, n); return true })
		}
	}
	for folder, files := range p.files {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool { p.look(folder, n); return true })
		}
	}
}

// declared records where a function takes such a text.
func (p *printed) declared(folder string, n ast.Node) {
	f, is := n.(*ast.FuncDecl)
	if !is {
		return
	}
	at := 0
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if about.MatchString(name.Name) {
				p.takes[folder+"."+f.Name.Name] = append(p.takes[folder+"."+f.Name.Name], at)
			}
			at++
		}
	}
}

func (p *printed) look(folder string, n ast.Node) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		kind, _ := n.Type.(*ast.Ident)
		for i, name := range n.Names {
			if i < len(n.Values) && (about.MatchString(name.Name) || kind != nil && about.MatchString(kind.Name)) {
				p.take(n.Values[i])
			}
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if i < len(n.Rhs) && about.MatchString(last(to)) {
				p.take(n.Rhs[i])
			}
		}
	case *ast.KeyValueExpr:
		if about.MatchString(last(n.Key)) {
			p.take(n.Value)
		}
	case *ast.CallExpr:
		name := last(n.Fun)
		if name == "Eventf" && len(n.Args) > 3 {
			p.take(n.Args[3])
		}
		places := slices.Clone(p.takes[folder+"."+name])
		if places == nil && ast.IsExported(name) {
			for of, at := range p.takes { // of another package: only the name is known
				if strings.HasSuffix(of, "."+name) {
					places = append(places, at...)
				}
			}
		}
		for _, at := range places {
			if at < len(n.Args) {
				p.take(n.Args[at])
			}
		}
	}
}

func (p *printed) take(e ast.Expr) {
	text, is := e.(*ast.BasicLit)
	if !is || text.Kind != token.STRING {
		return
	}
	if value, err := strconv.Unquote(text.Value); err == nil && camel.MatchString(value) {
		p.found[value] = p.set.Position(text.Pos()).String()
	}
}

// putTogether finds the events that the Machine API's controllers name after what they do: "Failed" and the step of a pass that can return an error, and
// "Machine" and the remediation of a health check.
func (p *printed) putTogether(folder string) {
	fails := map[string]bool{} // methods, by name
	each := func(visit func(ast.Node)) {
		for _, f := range p.files[folder] {
			ast.Inspect(f, func(n ast.Node) bool { visit(n); return true })
		}
	}
	each(func(n ast.Node) {
		f, is := n.(*ast.FuncDecl)
		if !is || f.Recv == nil {
			return
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if r, is := n.(*ast.ReturnStmt); is && len(r.Results) == 2 && last(r.Results[1]) != "nil" {
				fails[f.Name.Name] = true
			}
			_, nested := n.(*ast.FuncLit)
			return !nested
		})
	})
	put := func(prefix string, e ast.Expr) {
		if text, is := e.(*ast.BasicLit); is {
			p.found[prefix+strings.Trim(text.Value, `"`)] = p.set.Position(text.Pos()).String()
		}
	}
	each(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if len(n.Elts) < 2 {
				return
			}
			name, named := n.Elts[0].(*ast.KeyValueExpr)
			take, taken := n.Elts[1].(*ast.KeyValueExpr)
			if named && taken && last(name.Key) == "name" && last(take.Key) == "take" && fails[last(take.Value)] {
				put("Failed", name.Value)
			}
		case *ast.CallExpr:
			if last(n.Fun) == "remediated" && len(n.Args) > 3 {
				put("Machine", n.Args[3])
			}
		}
	})
}

// last is the last name of an expression.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.BasicLit:
		return strings.Trim(e.Value, `"`)
	}
	return ""
}

// explain finds every reason, event and condition that the code can write.
func TestEveryReasonEventAndConditionIsExplained(t *testing.T) {
	p := &printed{set: token.NewFileSet(), found: map[string]string{}, takes: map[string][]int{}, files: map[string][]*ast.File{}}
	p.read(t, "../../..")
	p.putTogether("../../../machine/controller")
	all := topics.Topics()
	for name, at := range p.found {
		if len(all.Find(name)) == 0 {
			t.Errorf("%s is not explained: %s: docs/meanings has the tables", name, at)
		}
	}
	for _, name := range []string{
		"MachineSetDeleted", "InstanceUnknown", "MirrorRefused", "RemediationCarriedOver", "HandoffStarted", "AuthoritySettled", "RivalMigration",
		"FailedDrain", "FailedRemoveFinalizer", "MachineRemediationRequested",
	} {
		if p.found[name] == "" {
			t.Errorf("%s was not found in the code: has the code changed how it writes one?", name)
		}
	}
	if len(p.found) < 100 {
		t.Errorf("%d were found, want 100 at least: has the code changed how it writes one?", len(p.found))
	}
}
