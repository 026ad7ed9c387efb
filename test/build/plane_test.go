// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestErrorsAreSentencesWithARemedy(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no go tool":                  {&exec.Error{Name: "go", Err: exec.ErrNotFound}, "install Go"},
		"our own write, disk full":    {&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "ran out of disk space"},
		"the compiler's, disk full":   {&goError{output: "compile: writing output: write $WORK/b.a: no space left on device", err: errors.New("exit status 1")}, "moved by GOCACHE"},
		"no network":                  {&goError{output: `go: k8s.io/api@v0.36.4: Get "https://modules.example.com/…": dial tcp: lookup modules.example.com: no such host`, err: errors.New("exit status 1")}, "could not download a Go module"},
		"the compiler was killed":     {&goError{output: "go build k8s.io/api: compile: signal: killed", err: errors.New("exit status 1")}, "for want of memory"},
		"anything else keeps its say": {&goError{output: "main.go:7:2: undefined: x", err: errors.New("exit status 1")}, "undefined: x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := inWords("building", c.err, "/cache"); !strings.Contains(got.Error(), c.want) || !errors.Is(got, c.err) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestWithoutAGoToolTheErrorNamesIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("KUBEBUILDER_ASSETS", "")
	if _, err := Plane(t.Context(), io.Discard); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "needs the go tool") {
		t.Errorf("got %v", err)
	}
}

func TestAModuleThatCannotBeFetched(t *testing.T) {
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	if _, err := ModuleDir(t.Context(), "github.com/openshift/api"); err == nil || !strings.Contains(err.Error(), "could not download a Go module") {
		t.Errorf("got %v", err)
	}
}

func TestModuleDirHoldsTheModule(t *testing.T) {
	for module, holds := range map[string]string{
		"github.com/openshift/api":                  filepath.Join("machine", "v1beta1"),
		"sigs.k8s.io/cluster-api-provider-ibmcloud": filepath.Join("config", "crd", "bases"), // of test/providers
	} {
		dir, err := ModuleDir(t.Context(), module)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, holds)); err != nil {
			t.Error(err)
		}
	}
}

func TestPhases(t *testing.T) {
	p := &phase{last: planeProgram().main}
	for _, step := range []struct{ line, want string }{
		{"", "reading modules"},
		{"go: downloading k8s.io/api v0.36.4", "downloading modules, 1 so far"},
		{"k8s.io/api/core/v1", "compiling, 1 package so far"},
		{"go: downloading k8s.io/kms v0.36.4", "compiling, 1 package so far"},
		{"# k8s.io/api/core/v1", "compiling, 1 package so far"},
		{"expect 3", "compiling, 1 of 4 packages, 25%"},
		{"k8s.io/api/apps/v1", "compiling, 2 of 4 packages, 50%"},
		{planeProgram().main, "linking"},
	} {
		if step.line == "expect 3" {
			p.expect(3)
		} else {
			p.line(step.line)
		}
		if got := p.String(); !strings.HasPrefix(got, step.want) {
			t.Errorf("after %q: %q, want %q", step.line, got, step.want)
		}
	}
	if got := p.output(); got != "# k8s.io/api/core/v1" {
		t.Errorf("kept %q for the error", got)
	}
}

// While what is left is counted some are compiled: what is said of the rest never runs past its end.
func TestTheCountNeverRunsPastItsEnd(t *testing.T) {
	p := &phase{last: planeProgram().main, total: 4}
	for _, want := range []string{"25%", "50%", "75%", "99%", "99%"} {
		p.line("k8s.io/api/core/v1")
		if got := p.String(); !strings.HasSuffix(got, " "+want) {
			t.Errorf("%q, want %s", got, want)
		}
		if got := p.bar(); len(got) != len("[] ")+20 {
			t.Errorf("bar %q", got)
		}
	}
	p.line(planeProgram().main)
	if got := p.bar(); got != "" {
		t.Errorf("a bar while linking: %q", got)
	}
}

func TestTheEntryIsNamedAfterWhatGoesIntoIt(t *testing.T) {
	dir := t.TempDir()
	hash := func() string {
		sum, err := hashFiles(dir, "go.mod", "*.go")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "a")
	first := hash()
	write("main_test.go", "a")
	write("README.md", "a")
	if hash() != first {
		t.Error("a file that the build does not read changed the name")
	}
	write("go.mod", "b")
	second := hash()
	write("main.go", "a")
	if second == first || hash() == second {
		t.Error("a change of a source did not change the name")
	}
	for _, p := range []program{planeProgram(), clusterAPIProgram()} {
		if r, err := p.describe(t.Context()); err != nil || !strings.HasPrefix(r.name(), p.folder+"-"+r.version+"-") {
			t.Errorf("%s, %v", r.name(), err)
		}
	}
}

// The controllers that Poundlock is tried against are those of the types that it is compiled with.
func TestTheCoreManagerIsOfTheProductsClusterAPI(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	want, err := required(filepath.Join(root, "go.mod"), clusterAPIModule)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := required(filepath.Join(root, "test", "clusterapi", "go.mod"), clusterAPIModule); got != want || err != nil {
		t.Errorf("test/clusterapi pins %s, the product %s (%v): go get -C test/clusterapi -tool %s@%s", got, want, err, clusterAPIModule, want)
	}
}

func TestVersionFlags(t *testing.T) {
	got := planeProgram().ldflags("v1.36.4")
	for _, want := range []string{".gitVersion=v1.36.4 ", ".gitMajor=1 ", ".gitMinor=36"} {
		if !strings.Contains(got+" ", want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestAssets(t *testing.T) {
	folder := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	t.Run("a complete folder is used as it is", func(t *testing.T) {
		dir := folder(Parts()...)
		t.Setenv("KUBEBUILDER_ASSETS", dir)
		if got, err := Plane(t.Context(), io.Discard); got != dir || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("a folder without an API server is refused by name", func(t *testing.T) {
		t.Setenv("KUBEBUILDER_ASSETS", folder(Etcd))
		if _, err := Plane(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "has no kube-apiserver: ") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("what is missing comes from the build, and the rest does not", func(t *testing.T) {
		assets, own := folder(Etcd, APIServer, Kubectl), filepath.Join(folder(), "own")
		if err := os.Mkdir(own, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(own, ControllerManager), []byte(own), 0o755); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			dir, err := mix(assets, own, []string{ControllerManager})
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{Etcd: assets, APIServer: assets, Kubectl: assets, ControllerManager: own} {
				if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
					t.Errorf("%s comes from %s, want %s (%v)", name, got, want, err)
				}
			}
		}
	})
}
