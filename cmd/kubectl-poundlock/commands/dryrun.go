// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"slices"

	"github.com/spf13/cobra"
)

// dryRuns are the values of --dry-run.
var dryRuns = []string{"none", "client", "server"}

// bindDryRun adds the flag --dry-run, and completes its values.
func bindDryRun(cmd *cobra.Command, value *string, usage string) {
	cmd.Flags().StringVar(value, "dry-run", "none", usage)
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(dryRuns, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// checkDryRun refuses other values.
func checkDryRun(value string) error {
	if !slices.Contains(dryRuns, value) {
		return usage("--dry-run %q: want none, client or server", value)
	}
	return nil
}
