// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command poundlock-private has the commands of private Cluster API types that run beside other programs' containers. Command poundlock has these commands,
// too, but its packages of providers' types take 60 MB before a flag is read.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/poundlock/proxying"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := &cobra.Command{Use: "poundlock-private", Short: "Run Cluster API's controllers on private types", SilenceUsage: true, SilenceErrors: true}
	cmd.AddCommand(proxying.Proxy(), proxying.Shim())
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "poundlock-private:", err)
		stop()
		os.Exit(1)
	}
}
