// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import "github.com/spf13/cobra"

func (p *plugin) completeTargets(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}
