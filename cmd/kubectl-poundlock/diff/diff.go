// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
)

// options are the flags of diff.
type options struct {
	*cli.Plugin
	targets.Files
	cli.OutputFlags
	in  string
	all bool
}

// NewCommand is `kubectl poundlock diff`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	cmd := &cobra.Command{
		Use:   "diff KIND/NAME",
		Short: "Compare an object in Machine API with the same object in Cluster API, field by field",
		Long: `Compare an object in Machine API with the same object in Cluster API, field by field. diff first converts both objects to the fields of one API, so
that it shows only real differences. The exit code is 3 if something differs.

diff ignores labels and annotations that Poundlock does not mirror: those that others write only to the mirror, and those that the Machine API's
controllers keep up to date, such as a Machine's zone. With --all, diff shows them, marked by a dot.`,
		Example: `  kubectl poundlock diff machineset/worker-a
  kubectl poundlock diff machine/master-0 --in clusterapi --all
  kubectl poundlock diff machine/master-0 -f ./must-gather.local.5421`,
		Args:              cli.Between(1, 2, "give the kind and name of one object"),
		ValidArgsFunction: targets.Complete(p),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.Files.AddFlags(cmd, "read the objects from these files, folders, URLs or - (standard input) instead of the cluster")
	o.OutputFlags.AddFlags(cmd, "table", "json", "yaml")
	cmd.Flags().StringVar(&o.in, "in", "machineapi", "the API whose fields to show: machineapi or clusterapi")
	cmd.Flags().BoolVar(&o.all, "all", false, "also show equal fields, and fields that Poundlock does not mirror")
	_ = cmd.RegisterFlagCompletionFunc("in", targets.CompleteAPI) // no error: the flag exists
	return cmd
}

func (o *options) run(ctx context.Context, args []string) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	in, err := targets.ParseAPI(o.in)
	if err != nil {
		return cli.Usagef("--in %q: give clusterapi or machineapi", o.in)
	}
	t, err := targets.Parse(args)
	if err != nil {
		return err
	}
	if len(t) != 1 || t[0].Name == "" {
		return cli.Usagef("diff wants one object: KIND/NAME")
	}
	f, err := o.one(ctx, t[0], args)
	if err != nil {
		return err
	}
	if len(f.Pairs) == 0 {
		pairs, err := o.Pairs()
		if err != nil {
			return err
		}
		return t[0].Absent(pairs)
	}
	return o.write(f, f.Pairs[0], in)
}

// one reads a single pair, from files or from the cluster.
func (o *options) one(ctx context.Context, t targets.Target, args []string) (*inventory.Fleet, error) {
	if !o.None() {
		return o.Gather(ctx, o.Plugin, targets.Selection{}, args)
	}
	pairs, err := o.Pairs()
	if err != nil {
		return nil, err
	}
	client, err := o.Client(nil)
	if err != nil {
		return nil, err
	}
	for _, namespaces := range pairs {
		f, err := inventory.One(ctx, client, namespaces, t.Kind, t.Name)
		if err != nil || len(f.Pairs) > 0 {
			return f, err
		}
	}
	return &inventory.Fleet{}, nil
}
