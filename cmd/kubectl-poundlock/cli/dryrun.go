// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// dryRuns are the values of --dry-run.
var dryRuns = []string{"none", "client", "server"}

// AddDryRunFlag adds the flag --dry-run, and completes its values.
func AddDryRunFlag(cmd *cobra.Command, value *string, help string) {
	cmd.Flags().StringVar(value, "dry-run", "none", help)
	CompleteFlag(cmd, "dry-run", dryRuns...)
}

// CheckDryRun returns an error for a value that --dry-run does not have.
func CheckDryRun(value string) error {
	switch {
	case slices.Contains(dryRuns, value):
		return nil
	case strings.HasPrefix(value, "-"):
		return Usagef("--dry-run needs a value (none, client or server), and %s is none of these: give --dry-run=client", value)
	}
	return Usagef("--dry-run %q: give none, client or server", value)
}
