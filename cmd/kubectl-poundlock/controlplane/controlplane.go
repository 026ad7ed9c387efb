// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
)

// NewCommand is `kubectl poundlock controlplane`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "controlplane",
		Aliases: []string{"cp", "cpms"},
		Short:   "Show what a ControlPlaneMachineSet would do, and its status, and activate it",
		Long: `Show what a ControlPlaneMachineSet would do, and its status, and activate it.

These commands show the plan by which Poundlock's operator acts. Its webhook warns with the same plan.`,
		Example: `  # What does the set do next, and what after that?
  kubectl poundlock controlplane plan

  # What would a change do? Nothing is stored.
  kubectl poundlock controlplane plan -f set.yaml

  # Where is it?
  kubectl poundlock controlplane status --watch

  # Begin
  kubectl poundlock controlplane activate`,
		Args:                       cli.OneOfItsCommands,
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPlan(p), newStatus(p), newActivate(p))
	return cmd
}
