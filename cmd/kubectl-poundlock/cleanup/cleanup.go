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

What is paused stays paused, and which API is authoritative stays authoritative: nothing begins to act. Nothing is done while a manager runs, which would
put everything back, or while an object is on the move, which nobody would end. A request to move that has not begun is taken back.
Interrupted, the same command goes on where it stopped. It stops when a manager starts meanwhile.

While a namespace, a CRD or the Cluster is being deleted, Poundlock may be gone with it. Then the mirrors there are released, also from the finalizers of
controllers that are paused, and a move there is taken back: no instance is terminated.
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
