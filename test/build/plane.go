// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The names under which the control plane's binary is called.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Kubectl           = "kubectl"
)

// Parts lists the names of all binaries that Plane's folder holds.
func Parts() []string { return []string{Etcd, APIServer, ControllerManager, Kubectl} }

// Plane returns a folder that holds the binaries of Parts, building them if no verified build is in the cache, which takes
// minutes the first time and is told to progress. It is safe to call from several processes at once.
func Plane(ctx context.Context, progress io.Writer) (dir string, err error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return fromAssets(ctx, assets, progress)
	}
	return built(ctx, progress)
}

func built(ctx context.Context, progress io.Writer) (string, error) {
	p, err := describe(ctx)
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir, err := entry{dir: filepath.Join(cache, p.name()), lock: filepath.Join(cache, p.name()+".lock"), make: p.compile}.get(ctx, progress)
	if err != nil {
		return "", inWords("building the control plane", err, cache)
	}
	return dir, nil
}

// fromAssets serves the folder of KUBEBUILDER_ASSETS as it is if it is complete; else a folder of links to it, filled up
// with the built binary, since envtest's archives have no controller manager.
func fromAssets(ctx context.Context, assets string, progress io.Writer) (string, error) {
	assets, err := filepath.Abs(assets)
	if err != nil {
		return "", err
	}
	missing := absent(assets, Parts())
	if must := absent(assets, []string{Etcd, APIServer}); len(must) > 0 {
		return "", fmt.Errorf("KUBEBUILDER_ASSETS is %s, which has no %s: point it at a folder that has both etcd and kube-apiserver, or unset it to build them",
			assets, strings.Join(must, " and no "))
	}
	if len(missing) == 0 {
		return assets, nil
	}
	fmt.Fprintf(progress, "KUBEBUILDER_ASSETS (%s) has no %s: using the one that Poundlock builds\n", assets, strings.Join(missing, " and no "))
	own, err := built(ctx, progress)
	if err != nil {
		return "", err
	}
	return mix(assets, own, missing)
}

func absent(dir string, names []string) []string {
	var out []string
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			out = append(out, name)
		}
	}
	return out
}

// mix makes a folder of links whose name follows from what it links to, so that making it twice, or by two processes, is one.
func mix(assets, own string, missing []string) (string, error) {
	dir := filepath.Join(filepath.Dir(own), "assets-"+digest(assets, own, strings.Join(missing, ","))[:16])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", inWords("linking binaries", err, dir)
	}
	from := map[string]string{}
	for _, name := range missing {
		from[name] = own
	}
	for _, name := range Parts() {
		source := assets
		if from[name] != "" {
			source = from[name]
		}
		if err := os.Symlink(filepath.Join(source, name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			return "", inWords("linking binaries", err, dir)
		}
	}
	return dir, nil
}

// recipe is everything that decides what the built binary is.
type recipe struct {
	source  string // folder of the module test/plane
	version string // of Kubernetes, with its v
	key     string
}

func (r recipe) name() string { return "plane-" + r.version + "-" + r.key[:16] }

func describe(ctx context.Context) (recipe, error) {
	root, err := Root()
	if err != nil {
		return recipe{}, err
	}
	source := filepath.Join(root, "test", "plane")
	goVersion, err := goOutput(ctx, source, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return recipe{}, inWords("asking the go tool for its version", err, source)
	}
	files, err := hashFiles(source, "go.mod", "go.sum", "*.go")
	if err != nil {
		return recipe{}, fmt.Errorf("reading the control plane's module: %w", err)
	}
	version, err := required(filepath.Join(source, "go.mod"), "k8s.io/kubernetes")
	if err != nil {
		return recipe{}, err
	}
	return recipe{source: source, version: version, key: digest(goVersion, files, ldflags(version))}, nil
}

// compile builds the binary into dir and links every part's name to it.
func (r recipe) compile(ctx context.Context, dir string, progress io.Writer) error {
	cmd := goCommand(ctx, r.source, "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", ldflags(r.version), "-o", filepath.Join(dir, binary), ".")
	// An interrupted go tool can leave its work folder behind; here it goes with the unfinished entry.
	work := filepath.Join(dir, "work")
	cmd.Env = append(cmd.Env, "GOTMPDIR="+work)
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	if err := watch(ctx, cmd, "building the control plane (Kubernetes "+r.version+")", progress); err != nil {
		return err
	}
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	for _, name := range Parts() {
		if err := os.Symlink(binary, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// binary is the multi-call binary's file name in an entry.
const binary = "plane"

// ldflags gives the binary its version; without it `kubectl version` fails, because v0.0.0 is no version that it can compare.
func ldflags(version string) string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	set := " -X k8s.io/component-base/version."
	return "-s -w" + set + "gitVersion=" + version + set + "gitMajor=" + major + set + "gitMinor=" + minor
}

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// An interrupted go tool lets its compilers end; a killed one does not.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	// A workspace, or flags meant for the caller's own build (-mod=vendor, -race), must not change this one.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	return cmd
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var stderr strings.Builder
	cmd := goCommand(ctx, dir, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", failed(ctx, args, stderr.String(), err)
	}
	return strings.TrimSpace(string(out)), nil
}
