// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(p *plugin) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Tell which build of the plugin this is", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			version := "unknown"
			if info, ok := debug.ReadBuildInfo(); ok {
				version = info.Main.Version
			}
			_, err := fmt.Fprintln(p.Out, "kubectl-poundlock", version)
			return err
		},
	}
}
