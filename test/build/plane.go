// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The names under which the binary of the control plane is called.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Kubectl           = "kubectl"
)

// Parts returns the names of all binaries in Plane's folder.
func Parts() []string { return []string{Etcd, APIServer, ControllerManager, Kubectl} }

// Plane returns a folder that holds the binaries of Parts. It builds them if the cache has no verified build. That takes minutes the first time, and is
// reported to progress. It is safe to call from several processes at once.
func Plane(ctx context.Context, progress io.Writer) (dir string, err error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return fromAssets(ctx, assets, progress)
	}
	return planeProgram().get(ctx, progress)
}

// fromAssets returns the folder of KUBEBUILDER_ASSETS, if that is complete. Else it returns a folder of links to those binaries, completed with the built
// binary: envtest's archives have no controller manager.
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
	own, err := planeProgram().get(ctx, progress)
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

// mix makes a folder of links and returns its path. The name follows from what the folder links to, so two calls, or two processes, make the same folder.
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
