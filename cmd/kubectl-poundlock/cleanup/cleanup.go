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
		Short: "Remove what Poundlock has written to a cluster, before Poundlock is removed for good",
		Long: `Remove Poundlock's webhook configurations, policies, finalizers, annotations and labels from a cluster, before Poundlock is removed for good.

Paused objects stay paused, and the authoritative API stays authoritative, so no controller begins to act. cleanup changes nothing while a manager of
Poundlock runs, because the manager would put everything back. It changes nothing while an object moves, because nobody would finish the move. cleanup
cancels a request to move that has not begun. If a manager starts meanwhile, cleanup stops. After an interruption, run the same command again to continue.

The deletion of a namespace, a CRD or the Cluster may also delete Poundlock. Then cleanup removes the finalizers from the mirrors that are deleted with it,
also the finalizers of paused controllers, and cancels the moves of these objects. No instance is terminated.
docs/plugin.md › Cleaning up lists what is left to do afterwards.`,
		Example: `  kubectl poundlock cleanup --dry-run=client
  kubectl -n openshift-cluster-api scale deployment poundlock --replicas=0 && kubectl poundlock cleanup`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inventory.AllowedToAdministrators(o.run(cmd.Context()))
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for a confirmation")
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
