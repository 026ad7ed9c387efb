// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/reconcilers/install"
)

// options are the flags of providers.
type options struct {
	*cli.Plugin
	cli.OutputFlags
	render, diff, tags bool
	platforms          []string
}

// NewCommand is `kubectl poundlock providers`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	cmd := &cobra.Command{
		Use:   "providers",
		Short: "Show which providers of Cluster API are installed, and what the installer waits for",
		Long: `Show which providers of Cluster API are installed: version, hash of the content, the stage in which each provider waits, and for what.

providers reads what the installer reads, and writes nothing.

Exit codes of --diff and --render (--render never exits with 3):
  0  the installer can apply the release's content; with --diff, the cluster also has it already
  1  an error, for example an object that could not be read
  3  something differs (kubectl diff has exit code 1 here)
  5  the installer cannot apply the release: the output is the content that was installed last, or nothing`,
		Example: `  kubectl poundlock providers

  # Show what somebody changed or added.
  kubectl poundlock providers --diff

  # Show what the installer would apply.
  kubectl poundlock providers --render`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.render, "render", false, "print the objects that the installer would apply, as YAML")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "print how the cluster differs from the objects that the installer would apply")
	cmd.Flags().StringSliceVar(&o.platforms, "enable-platform", nil,
		"also support these platforms, like the installer's flag of this name: IBMCloud, Nutanix, KubeVirt")
	cmd.Flags().BoolVar(&o.tags, "allow-tags", false, "accept images that are named by a tag, like the installer's flag of this name")
	o.OutputFlags.AddFlags(cmd, "table", "json", "yaml")
	cmd.Flags().BoolVar(&o.NoHeaders, "no-headers", false, "leave out the headings of the table and of custom columns")
	return cmd
}

func (o *options) run(ctx context.Context) error {
	if o.render && o.diff {
		return cli.Usagef("--render and --diff exclude each other: give only one")
	}
	if err := o.Check(); err != nil {
		return err
	}
	if (o.render || o.diff) && o.Format != "table" {
		return cli.Usagef("--output %s: this flag is for the table only; --render and --diff have their own formats", o.Format)
	}
	if err := installation.CheckEnabled(o.platforms); err != nil {
		return cli.Usagef("--enable-platform: %v", err)
	}
	config, err := o.RESTConfig(nil)
	if err != nil {
		return err
	}
	view, err := install.Look(ctx, config, install.Options{Enabled: o.platforms, AllowTags: o.tags})
	if err != nil {
		return inventory.AllowedToView(err)
	}
	switch {
	case o.render:
		return render(o.Out, view)
	case o.diff:
		return o.writeDiff(view)
	}
	if done, err := o.Document(o.OutputFlags, "ProvidersReport", reportOf(view)); done {
		return err
	}
	o.writeTable(view)
	return nil
}
