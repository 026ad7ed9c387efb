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

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/testcluster"
)

var complete = flag.Bool("complete", false, "restart ten times in each overlay")

// image is what the page has somebody push.
const image = "registry.example.com/poundlock"

// place is a cluster without Poundlock, and a folder with what of a checkout the page uses.
type place struct {
	stage *testcluster.Stage
	admin client.Client
	dir   string
	// kubectl and kubeconfig are those of the control plane, the stage's if there is one.
	kubectl, kubeconfig string
	// elsewhere are the page's patches for a cluster that is not OpenShift.
	elsewhere string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	embedded.LeaveOut(t)
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{dir: t.TempDir()}
	if err := os.CopyFS(filepath.Join(p.dir, "manifests"), os.DirFS(filepath.Join(root, "manifests"))); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(p.dir, "bin")
	for _, program := range []string{"poundlock", "kubectl-poundlock"} {
		if err := build.Own(t.Context(), "./cmd/"+program, filepath.Join(bin, program), false); err != nil {
			t.Fatal(err)
		}
	}
	// The image has a test of its own (tools/image). Here a pod of it runs the binary.
	const making = "#!/bin/sh\ncase \"$*\" in 'image VERSION=v0.1.0 PUSH=" + image + "'|'image VERSION=v0.2.0 PUSH=" + image + "') ;; *) exit 1;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "make"), []byte(making), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	manager := filepath.Join(bin, "poundlock")
	p.stage, err = testcluster.Set(t.Context(), testcluster.Options{
		Bare: true, Pods: true, Out: os.Stderr, Programs: map[string]string{image + ":v0.1.0": manager, image + ":v0.2.0": manager},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	if p.admin, err = client.New(p.stage.Plane.Admin(), client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	return p
}

// shell types a command, and returns what it prints.
func (p *place) shell(ctx context.Context, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir = p.dir
	if p.stage != nil {
		p.kubectl, p.kubeconfig = p.stage.Plane.Kubectl(), p.stage.Plane.KubeconfigPath()
	}
	path := []string{filepath.Join(p.dir, "bin"), filepath.Dir(p.kubectl), os.Getenv("PATH")}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "PATH="+strings.Join(path, string(os.PathListSeparator)))
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
