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
			_, err := fmt.Fprintln(p.Out, "kubectl-poundlock", p.version())
			return err
		},
	}
}

func (p *plugin) version() string {
	if info, ok := debug.ReadBuildInfo(); ok && p.Version == "" {
		return info.Main.Version
	}
	return p.Version
}
