// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
)

// options are the flags of cleanup.
type options struct {
	*cli.Plugin
	yes    bool
	dryRun string
	name   string
}

// NewCommand is `kubectl poundlock cleanup`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Take Poundlock's admission, finalizers and marks off a cluster from which it is removed",
		Long: `Take Poundlock's admission, finalizers and marks off a cluster from which it is removed.

Paused objects stay paused, and the authoritative API stays authoritative, so no controller begins to act. cleanup does nothing while a manager runs,
which would put everything back, or while an object is on the move, because nobody would finish the move. It cancels a request that has not begun.
After an interruption, run the same command again to continue. cleanup stops if a manager starts meanwhile.

The deletion of a namespace, a CRD or the Cluster may also delete Poundlock. Then cleanup releases the mirrors in it, also from the finalizers of paused
controllers, and cancels the moves of their objects. No instance is terminated.
docs/plugin.md › Cleaning up lists what is left to do afterwards.`,
		Example: `  kubectl poundlock cleanup --dry-run=client
  kubectl -n openshift-cluster-api scale deployment poundlock --replicas=0 && kubectl poundlock cleanup`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inventory.AllowedToAdministrators(o.run(cmd.Context()))
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cli.AddDryRunFlag(cmd, &o.dryRun, "client: show the plan; server: have the API server try each write; none")
	cmd.Flags().StringVar(&o.name, "name", presence.Name, "the name of Poundlock's Deployment, Lease and webhook configurations")
	return cmd
}

func (o *options) run(ctx context.Context) error {
	if err := cli.CheckDryRun(o.dryRun); err != nil {
		return err
	}
	pairs, err := o.Pairs()
	if err != nil {
		return err
	}
	client, err := o.Client(nil)
	if err != nil {
		return err
	}
	f, err := inventory.FromCluster(ctx, client, inventory.Query{Pairs: pairs, Sets: true, WithoutInfrastructure: true})
	if err != nil {
		return err
	}
	c := &cleaner{options: o, Output: o.Printer(), client: client, leaving: Leaving{}, lingers: linger}
	if c.marked, err = c.surroundings(ctx, pairs); err != nil {
		return err
	}
	return c.clean(ctx, f, pairs[0].ClusterAPI)
}
