// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plane builds the embedded control plane's binaries, or finds them in the cache, and prints their folder.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/poundlock/poundlock/test/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := build.Plane(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "plane: "+err.Error())
		os.Exit(1)
	}
	fmt.Println(dir)
}
