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
		Short:   "Show what the ControlPlaneMachineSet would do, show its status, and activate the set",
		Long: `Show what the ControlPlaneMachineSet would do, show its status, and activate the set.

Poundlock's operator carries out the plan that these commands show, and Poundlock's webhook warns with the same plan.`,
		Example: `  # What does the set do next, and what after that?
  kubectl poundlock controlplane plan

  # What would a change do? Nothing is stored.
  kubectl poundlock controlplane plan -f set.yaml

  # How far has the set come?
  kubectl poundlock controlplane status --watch

  # Activate the set, so that it begins
  kubectl poundlock controlplane activate`,
		Args:                       cli.OneOfItsCommands,
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPlan(p), newStatus(p), newActivate(p))
	return cmd
}
