// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"io"
	"path/filepath"
)

// Promtool returns the path of Prometheus' promtool. It builds promtool if the cache has no verified build.
func Promtool(ctx context.Context, progress io.Writer) (path string, err error) {
	p := promtoolProgram()
	dir, err := p.get(ctx, progress)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, p.binary), nil
}

func promtoolProgram() program {
	return program{
		what: "promtool", product: "Prometheus", folder: "promtool", pinned: prometheusModule,
		main: prometheusModule + "/cmd/promtool", binary: "promtool",
		ldflags: func(string) string { return "-s -w" },
	}
}
