// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"io"
	"path/filepath"
)

// ClusterAPI returns the path of Cluster API's core manager, building it if no verified build is in the cache, which takes
// minutes the first time and is reported to progress. It is safe to call from several processes at once.
func ClusterAPI(ctx context.Context, progress io.Writer) (path string, err error) {
	p := clusterAPIProgram()
	dir, err := p.get(ctx, progress)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, p.binary), nil
}
