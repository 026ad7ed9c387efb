// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Root returns the folder of this checkout: the nearest folder upwards from the working directory that holds the product's go.mod, else the one that this file
// was compiled from.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	_, file, _, _ := runtime.Caller(0)
	for _, start := range []string{wd, filepath.Dir(file)} {
		for dir := start; ; dir = filepath.Dir(dir) {
			if isRoot(dir) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("finding Poundlock's checkout: no go.mod of %s in %s or above it: run this from within a checkout", product, wd)
}

const product = "github.com/poundlock/poundlock"

func isRoot(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first) == "module "+product
}

// ModuleDir returns the folder of a module, at the version that test/providers/go.mod names, or else the one that the product's go.mod selects. It downloads
// the module if it is missing. Its files are read-only and shared with every other user of Go's module cache.
func ModuleDir(ctx context.Context, module string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	if providers := filepath.Join(root, "test", "providers"); requires(providers, module) {
		root = providers
	}
	return moduleDir(ctx, root, module)
}

// FormerClusterAPI returns the folder of the release of Cluster API that an upgrade begins with, as test/formercore pins it.
func FormerClusterAPI(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return moduleDir(ctx, filepath.Join(root, "test", "formercore"), "sigs.k8s.io/cluster-api")
}

// moduleDir returns the folder of a module at the version that the go.mod in root selects.
func moduleDir(ctx context.Context, root, module string) (string, error) {
	doing := "finding the folder of module " + module
	dir, err := goOutput(ctx, root, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", inWords(doing, err, root)
	}
	if dir != "" {
		return dir, nil
	}
	if _, err := goOutput(ctx, root, "mod", "download", module); err != nil {
		return "", inWords(doing, err, root)
	}
	if dir, err = goOutput(ctx, root, "list", "-m", "-f", "{{.Dir}}", module); err != nil || dir == "" {
		return "", inWords(doing, fmt.Errorf("downloaded, and still absent: %w", err), root)
	}
	return dir, nil
}

func requires(dir, module string) bool {
	_, err := required(filepath.Join(dir, "go.mod"), module)
	return err == nil
}

// required returns the version of a module from the require lines of a go.mod.
func required(goMod, module string) (string, error) {
	text, err := os.ReadFile(goMod)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", goMod, module)
}
