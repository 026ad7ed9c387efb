// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/check"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cleanup"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/controlplane"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/convert"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/diff"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/explain"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/migrate"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/privatetypes"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/providers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/status"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/version"
)

// New returns the whole command line.
func New(o cli.Options) *cobra.Command {
	p := &cli.Plugin{Options: o}
	root := &cobra.Command{
		Use:   "kubectl-poundlock",
		Short: "Show, check and change which API is authoritative for machines: Machine API or Cluster API",
		Long: `Show, check and change which API is authoritative for machines: OpenShift's Machine API or Cluster API.

The plugin uses the same rules and the same conversion as Poundlock's webhook, so both give the same answer. check -f,
convert -f and explain need no cluster.

Exit codes:
  0    done; for a command that answers a question, the answer is yes
  1    an error: the command got no answer, or the cluster refused a write
  2    the command line is wrong
  3    the answer is no: check found what --fail-on names, convert met a field that cannot convert, diff or providers --diff found a
       difference, migrate stopped at a failure, cleanup refused, controlplane plan or activate met a problem that must be fixed first
  4    the timeout passed before the command was done
  5    providers --diff and --render: the installer cannot apply the release, so the output is not the release's content
  130  interrupted`,
		Example: `  # What could move to Cluster API today?
  kubectl poundlock check

  # Would this manifest convert? This needs no cluster.
  kubectl poundlock check -f machineset.yaml

  # Which API is authoritative for what?
  kubectl poundlock status

  # Move a set to Cluster API, and then its Machines, three at a time.
  kubectl poundlock migrate machineset/worker-a --to clusterapi --with-machines --max-in-flight 3`,
		SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl poundlock"},
	}
	root.SetIn(o.In)
	root.SetOut(o.Out)
	root.SetErr(o.ErrOut)
	p.AddFlags(root)
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddCommand(status.NewCommand(p), check.NewCommand(p), convert.NewCommand(p), diff.NewCommand(p), migrate.NewCommand(p), explain.NewCommand(p),
		controlplane.NewCommand(p), providers.NewCommand(p), privatetypes.NewCommand(p), cleanup.NewCommand(p), version.NewCommand(p))
	root.InitDefaultCompletionCmd()
	if shells, _, err := root.Find([]string{"completion"}); err == nil { // cobra's own command prints help for an unknown shell, and succeeds
		shells.Args, shells.RunE = cli.OneOfItsCommands, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	typeArguments(root)
	return root
}

// Execute runs the typed command. Function cli.Code returns the exit code of its error.
func Execute(ctx context.Context, o cli.Options, args []string) error {
	root := New(o)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if _, _, unknown := root.Find(args); unknown != nil { // nothing ran then, and cobra does not call the function for errors
		return cli.AsUsage(unknown)
	}
	return err
}

// typeArguments makes the argument errors of a command, and of the commands below it, usage errors.
func typeArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			return cli.AsUsage(check(cmd, args))
		}
	}
	for _, child := range cmd.Commands() {
		typeArguments(child)
	}
}
