// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// ClusterAPI returns the path of Cluster API's core manager, building it if no verified build is in the cache, which takes
// minutes the first time and is reported to progress. It is safe to call from several processes at once.
func ClusterAPI(ctx context.Context, progress io.Writer) (path string, err error) {
	return ClusterAPIRelease(ctx, "", progress)
}

// ClusterAPIRelease is ClusterAPI of another release than the product's: 1.11 or 1.14. "" is the product's.
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

// ClusterAPIDefinitions is the folder with the CustomResourceDefinitions of a release.
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
