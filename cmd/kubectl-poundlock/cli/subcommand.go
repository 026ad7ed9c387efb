// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/internal/spelling"
)

// OneOfItsCommands is the cobra.PositionalArgs of a command that only groups other commands. For an unknown name it returns an error that suggests similar
// names, because cobra itself suggests names only at the root.
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

// FlagError returns the usage error of a flag that cannot be read. For an unknown flag it suggests the command's flag with a similar name.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return AsUsage(err)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if near := spelling.Nearest(unknown.GetSpecifiedName(), known); near != "" {
		return Usagef("%v; did you mean --%s?", err, near)
	}
	return AsUsage(err)
}

// Between returns the cobra.PositionalArgs of a command with at least `least` and at most `most` arguments. Its error has the command's first example.
func Between(least, most int, wanted string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		example, _, _ := strings.Cut(cmd.Example, "\n")
		return Usagef("%s: %s, such as:%s", amount.Of(len(args), "argument"), wanted, example[1:])
	}
}
