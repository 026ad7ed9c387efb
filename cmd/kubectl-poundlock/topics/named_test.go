// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package topics_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
	"github.com/poundlock/poundlock/policies/authority"
)

// mentioned are the annotations, labels, finalizers and feature gates in the sentences of a tree's sources, each with one place. A sentence is a literal with
// spaces, with what is concatenated with it or passed beside it.
type mentioned struct {
	sources *printed
	// constants are the values of the tree's constants, by package and name, and of other packages' constants in its messages. in is the current package.
	constants map[string]string
	in        string
	found     map[string]string
	unknown   map[string]string
}

var (
	// qualified is the name of an annotation, a label or a finalizer.
	qualified = regexp.MustCompile(`(?:^|[\s"'` + "`" + `(\[{,])((?:[a-z0-9-]+\.)+(?:io|dev|com)/[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9])(?:$|[\s"'` + "`" + `)\]}.,;:=])`)
	// version matches the end of an apiVersion, which looks like such a name.
	version = regexp.MustCompile(`/v[0-9]+((alpha|beta)[0-9]+)?$`)
	// aName matches the names of constants with such a name, or with a gate's.
	aName = regexp.MustCompile(`(Annotation|Label|Finalizer|Gate)$`)
)

// read looks for messages in all folders but the one that rewrites the objects of others.
func (m *mentioned) read() {
	for range 3 { // a constant may be another one
		for folder, files := range m.sources.files {
			m.in = filepath.Base(folder)
			for _, f := range files {
				ast.Inspect(f, m.declared)
			}
		}
	}
	for folder, files := range m.sources.files {
		if of := filepath.ToSlash(strings.TrimPrefix(folder, "../../../")); of == "bundle" || of == "translation" {
			continue
		}
		m.in = filepath.Base(folder)
		for _, f := range files {
			ast.Inspect(f, m.look)
		}
	}
}

func (m *mentioned) declared(n ast.Node) bool {
	if spec, is := n.(*ast.ValueSpec); is {
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				if value := m.value(spec.Values[i]); value != "" {
					m.constants[m.in+"."+name.Name] = value
				}
			}
		}
	}
	return true
}

// value is the value of a literal, or of a literal concatenated with a constant; "" if unknown.
func (m *mentioned) value(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		if one, other := m.value(e.X), m.value(e.Y); one != "" && other != "" {
			return one + other
		}
	case *ast.Ident, *ast.SelectorExpr:
		return m.constants[m.named(e)]
	}
	return ""
}

// named is a constant's package and name.
func (m *mentioned) named(e ast.Expr) string {
	if s, is := e.(*ast.SelectorExpr); is {
		return last(s.X) + "." + s.Sel.Name
	}
	return m.in + "." + last(e)
}

func (m *mentioned) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		if text, is := sentence(n); is {
			for _, name := range qualified.FindAllStringSubmatch(text, -1) {
				if !version.MatchString(name[1]) {
					m.found[name[1]] = m.at(n)
				}
			}
		}
	case *ast.BinaryExpr:
		m.beside(operands(n))
	case *ast.CallExpr:
		var all []ast.Expr
		for _, arg := range n.Args {
			all = append(all, operands(arg)...)
		}
		m.beside(all)
	}
	return true
}

// beside adds the constants among expressions if one of these is a sentence.
func (m *mentioned) beside(all []ast.Expr) {
	given := false
	for _, e := range all {
		_, is := sentence(e)
		given = given || is
	}
	for _, e := range all {
		name := m.named(e)
		if _, literal := e.(*ast.BasicLit); !given || literal || !aName.MatchString(name) {
			continue
		}
		if value := m.constants[name]; value != "" {
			m.found[value] = m.at(e)
		} else {
			m.unknown[name] = m.at(e)
		}
	}
}

func (m *mentioned) at(n ast.Node) string { return m.sources.set.Position(n.Pos()).String() }

// operands are the parts of a concatenation.
func operands(e ast.Expr) []ast.Expr {
	if b, is := e.(*ast.BinaryExpr); is && b.Op == token.ADD {
		return append(operands(b.X), operands(b.Y)...)
	}
	return []ast.Expr{e}
}

func sentence(e ast.Expr) (string, bool) {
	literal, is := e.(*ast.BasicLit)
	if !is || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil && strings.Contains(strings.TrimSpace(text), " ")
}

// explain finds every annotation, label, finalizer and feature gate in a message.
func TestWhatMessagesNameIsExplained(t *testing.T) {
	p := &printed{set: token.NewFileSet(), found: map[string]string{}, takes: map[string][]int{}, files: map[string][]*ast.File{}}
	p.read(t, "../../..")
	m := &mentioned{sources: p, found: map[string]string{}, unknown: map[string]string{}, constants: map[string]string{
		"clusterctlv1.BlockMoveAnnotation":                 clusterctlv1.BlockMoveAnnotation,
		"clusterv1.ClusterNameLabel":                       clusterv1.ClusterNameLabel,
		"clusterv1.DeleteMachineAnnotation":                clusterv1.DeleteMachineAnnotation,
		"clusterv1.MachineControlPlaneLabel":               clusterv1.MachineControlPlaneLabel,
		"clusterv1.MachineDeploymentNameLabel":             clusterv1.MachineDeploymentNameLabel,
		"machinev1beta1.MachineFinalizer":                  machinev1beta1.MachineFinalizer,
		"clusterv1.MachineSkipRemediationAnnotation":       clusterv1.MachineSkipRemediationAnnotation,
		"clusterv1.PausedAnnotation":                       clusterv1.PausedAnnotation,
		"clusterv1.PreDrainDeleteHookAnnotationPrefix":     clusterv1.PreDrainDeleteHookAnnotationPrefix,
		"clusterv1.PreTerminateDeleteHookAnnotationPrefix": clusterv1.PreTerminateDeleteHookAnnotationPrefix,
		"clusterv1.RemediateMachineAnnotation":             clusterv1.RemediateMachineAnnotation,
	}}
	m.read()
	for name, at := range m.unknown {
		t.Errorf("what is the value of %s (%s)? Name it above", name, at)
	}
	all := topics.Topics()
	for name, at := range m.found {
		if len(all.Find(name)) == 0 {
			t.Errorf("%s is not explained: %s: docs/meanings has the tables", name, at)
		}
	}
	for _, name := range []string{
		"metal3.io/autoscale-to-hosts", authority.TaintGate, authority.SyncFinalizer, clusterv1.DeleteMachineAnnotation, clusterv1.PausedAnnotation,
		authority.AllowDeletionAnnotation, authority.InstanceHookAnnotation, machinev1beta1.MachineFinalizer,
	} {
		if m.found[name] == "" {
			t.Errorf("%s was not found in the code: has the code changed how it writes one?", name)
		}
	}
	for _, name := range []string{"machine.openshift.io/delete-machine", "machine.openshift.io/interruptible-instance"} { // only tables have these
		if len(all.Find(name)) == 0 {
			t.Errorf("%s is not explained: docs/meanings has the tables", name)
		}
	}
	if len(m.found) < 35 {
		t.Errorf("%d were found, want 35 at least: has the code changed how it writes one?", len(m.found))
	}
}
