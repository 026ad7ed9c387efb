// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// ClusterAPI returns the path of Cluster API's core manager. It builds the manager if the cache has no verified build. That takes minutes the first time, and
// is reported to progress. It is safe to call from several processes at once.
func ClusterAPI(ctx context.Context, progress io.Writer) (path string, err error) {
	return ClusterAPIRelease(ctx, "", progress)
}

// ClusterAPIRelease does what ClusterAPI does for the given release, 1.11 or 1.14. "" is the release that the product uses.
func ClusterAPIRelease(ctx context.Context, release string, progress io.Writer) (path string, err error) {
	p, _, err := clusterAPIRelease(release)
	if err != nil {
		return "", err
	}
	dir, err := p.get(ctx, progress)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, p.binary), nil
}

// ClusterAPIDefinitions returns the folder with the CustomResourceDefinitions of a release.
func ClusterAPIDefinitions(ctx context.Context, release string) (string, error) {
	p, bases, err := clusterAPIRelease(release)
	if err != nil {
		return "", err
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := moduleDir(ctx, filepath.Join(root, "test", p.folder), clusterAPIModule)
	return filepath.Join(dir, bases), err
}

func clusterAPIRelease(release string) (p program, bases string, err error) {
	p, bases = clusterAPIProgram(), "config/crd/bases"
	switch release {
	case "":
	case "1.11":
		p.folder = "clusterapi11"
	case "1.14":
		p.folder, p.main, bases = "clusterapi14", clusterAPIModule+"/core", "core/config/crd/bases"
	default:
		err = fmt.Errorf("the release %q of Cluster API: want 1.11 or 1.14", release)
	}
	return p, bases, err
}
