// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/scene"
)

var complete = flag.Bool("complete", false, "restart more often")

// place is a cluster, and a checkout from which somebody installs.
type place struct {
	stage *scene.Stage
	root  string
}

// image is what the Deployment's pods run.
const image = "registry.example.com/poundlock"

func newPlace(t *testing.T) *place {
	t.Helper()
	if testing.Short() {
		t.Skip("a control plane is not short")
	}
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{"poundlock:latest": program(t, root, "poundlock")}
	stage, err := scene.Set(t.Context(), scene.Options{Bare: true, Pods: true, Programs: programs, Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	return &place{stage: stage, root: root}
}

// program builds one of the binaries.
func program(t *testing.T, root, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/"+name)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v:\n%s", name, err, said)
	}
	return path
}

// shell types a command in the checkout, and returns what it prints.
func (p *place) shell(ctx context.Context, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir = p.root
	kubectl := filepath.Dir(p.stage.Plane.Kubectl())
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.stage.Plane.KubeconfigPath(), "PATH="+kubectl+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// types is shell for a command that has to succeed.
func (p *place) types(t *testing.T, command string) string {
	t.Helper()
	out, err := p.shell(t.Context(), command)
	t.Logf("$ %s\n%s", command, out)
	if err != nil {
		t.Fatalf("$ %s: %v\n%s", command, err, out)
	}
	return out
}
