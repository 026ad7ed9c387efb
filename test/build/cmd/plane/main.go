// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plane builds what the tests start, or finds it in the cache: the embedded control plane, whose folder it prints, and Cluster API's core manager,
// whose path it prints.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/poundlock/poundlock/test/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// One after the other: each build takes all processors.
	for _, get := range []func(context.Context, io.Writer) (string, error){build.Plane, build.ClusterAPI} {
		path, err := get(ctx, os.Stderr)
		if err != nil {
			fmt.Fprintln(os.Stderr, "plane: "+err.Error())
			os.Exit(1)
		}
		fmt.Println(path)
	}
}
