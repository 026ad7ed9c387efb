// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/internal/amount"
)

// OneOfItsCommands is the cobra.PositionalArgs of a command that only groups others. It refuses an unknown name and suggests similar ones. cobra itself
// suggests only at the root.
func OneOfItsCommands(cmd *cobra.Command, args []string) error {
	err := cobra.NoArgs(cmd, args)
	if err == nil {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%w\n\nDid you mean this?\n\t%s", err, strings.Join(near, "\n\t"))
	}
	return err
}

// Between is the cobra.PositionalArgs of a command with between least and most arguments. Its error has the command's first example.
func Between(least, most int, wanted string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		example, _, _ := strings.Cut(cmd.Example, "\n")
		return Usagef("%s: %s, such as:%s", amount.Of(len(args), "argument"), wanted, example[1:])
	}
}
