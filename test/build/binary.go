// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// program is one binary that is built from its own module in a folder below test/, and is cached.
type program struct {
	what    string // what the binary is, in a sentence: "the control plane"
	product string // the product that has a version: "Kubernetes"
	folder  string // the folder of the module, below test/
	pinned  string // the module that gives the binary its version, as the folder's module pins it
	main    string // the import path of the main package
	binary  string // the binary's file name in the cache's entry
	links   []string
	ldflags func(version string) string
}

// planeProgram and clusterAPIProgram return the two binaries of this file.
func planeProgram() program {
	return program{
		what: "the control plane", product: "Kubernetes", folder: "plane", pinned: "k8s.io/kubernetes",
		main: "github.com/poundlock/poundlock/test/plane", binary: "plane", links: Parts(),
		// Without a version `kubectl version` fails, because it cannot compare v0.0.0.
		ldflags: func(v string) string { return version("k8s.io/component-base/version", v) },
	}
}

func clusterAPIProgram() program {
	return program{
		what: "Cluster API's core manager", product: "Cluster API", folder: "clusterapi", pinned: clusterAPIModule,
		// The name of the program is the field manager of what it writes. In its image it has this name.
		main: clusterAPIModule, binary: "manager",
		ldflags: func(v string) string { return version(clusterAPIModule+"/version", v) },
	}
}

const prometheusModule = "github.com/prometheus/prometheus"

const machineAPIModule = "github.com/openshift/machine-api-operator"

const clusterAPIModule = "sigs.k8s.io/cluster-api"

// version returns linker flags that give a binary its version, as Kubernetes' projects do.
func version(in, version string) string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	set := " -X " + in + "."
	return "-s -w" + set + "gitVersion=" + version + set + "gitMajor=" + major + set + "gitMinor=" + minor
}

// get returns the folder of the cache with the program. It builds the program if the cache has no verified build.
func (p program) get(ctx context.Context, progress io.Writer) (string, error) {
	r, err := p.describe(ctx)
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, r.name())
	dir, err = entry{what: p.what, dir: dir, lock: dir + ".lock", make: r.compile}.get(ctx, progress)
	if err != nil {
		return "", inWords("building "+p.what, err, cache)
	}
	return dir, nil
}

func cacheDir() (string, error) {
	dir := os.Getenv(CacheEnv)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding a cache folder: %w: set HOME or %s", err, CacheEnv)
		}
		dir = filepath.Join(base, "poundlock")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", inWords("making the cache folder", err, dir)
	}
	return dir, nil
}

// recipe is everything that decides what the built binary is.
type recipe struct {
	program
	source  string // the folder of the module
	version string // the version, with its v
	key     string
}

func (r recipe) name() string { return r.folder + "-" + r.version + "-" + r.key[:16] }

func (p program) describe(ctx context.Context) (recipe, error) {
	root, err := Root()
	if err != nil {
		return recipe{}, err
	}
	source := filepath.Join(root, "test", p.folder)
	goVersion, err := goOutput(ctx, source, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return recipe{}, inWords("asking the go tool for its version", err, source)
	}
	files, err := hashFiles(source, "go.mod", "go.sum", "*.go")
	if err != nil {
		return recipe{}, fmt.Errorf("reading the module of %s: %w", p.what, err)
	}
	version, err := required(filepath.Join(source, "go.mod"), p.pinned)
	if err != nil {
		return recipe{}, err
	}
	return recipe{program: p, source: source, version: version,
		key: digest(append([]string{goVersion, files, p.main, p.ldflags(version), p.binary}, p.links...)...)}, nil
}

// hashFiles returns a digest of the files of dir that match a pattern, and of their names. It leaves out tests, because they do not go into the binary.
func hashFiles(dir string, patterns ...string) (string, error) {
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		names = append(names, found...)
	}
	sort.Strings(names)
	var parts []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		sum, err := hashFile(name)
		if err != nil {
			return "", err
		}
		parts = append(parts, filepath.Base(name), sum)
	}
	return digest(parts...), nil
}

// uncompiled returns how many packages Go's own cache lacks. The go tool answers within two seconds, once it has the modules.
func (r recipe) uncompiled(ctx context.Context) (int, error) {
	out, err := goOutput(ctx, r.source, "list", "-deps", "-buildvcs=false", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", r.main)
	return len(strings.Fields(out)), err
}

// compile builds the binary into dir and links its other names to it. It builds without -trimpath, so that the go tool can reuse what it has compiled for
// Poundlock's own build.
func (r recipe) compile(ctx context.Context, dir string, progress io.Writer) error {
	cmd := goCommand(ctx, r.source, "build", "-v", "-buildvcs=false", "-ldflags", r.ldflags(r.version), "-o", filepath.Join(dir, r.binary), r.main)
	// An interrupted go tool can leave its work folder behind. Below dir, the work folder is removed together with the unfinished entry.
	work := filepath.Join(dir, "work")
	cmd.Env = append(cmd.Env, "GOTMPDIR="+work)
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	title := fmt.Sprintf("building %s (%s %s)", r.what, r.product, r.version)
	p := &phase{last: r.main}
	counting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		if left, err := r.uncompiled(counting); err == nil {
			p.expect(left)
		}
	}()
	if err := watch(ctx, cmd, title, p, progress); err != nil {
		return err
	}
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	for _, name := range r.links {
		if err := os.Symlink(r.binary, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
