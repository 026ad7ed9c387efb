// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/policies/authority"
)

// options are the flags of migrate.
type options struct {
	*cli.Plugin
	targets.Selection
	targets.Names
	to           string
	wait         bool
	withMachines bool
	maxInFlight  int
	cancel       bool
	yes          bool
	skipBlocked  bool
	controlPlane bool
	dryRun       string
	timeout      time.Duration
	format       string
}

// NewCommand is `kubectl poundlock migrate`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	cmd := &cobra.Command{
		Use:   "migrate KIND[/NAME]… --to clusterapi|machineapi",
		Short: "Migrate objects to the other API, step by step, or cancel migrations",
		Long: `Migrate objects to the other API, or cancel migrations. migrate first shows the plan, and asks for a confirmation. If one object cannot move,
migrate moves none; with --skip-blocked, it leaves out the objects that cannot move, and moves the others.

To request a move, migrate changes spec.authoritativeAPI. Poundlock's manager then carries out the move, also if this command is interrupted. Run
the same command again to request the remaining moves. With --wait, --with-machines or --max-in-flight, migrate prints each step with its time. After the
first failure migrate requests nothing more.`,
		Example: `  # One set: from then on, Cluster API creates the set's new Machines
  kubectl poundlock migrate machineset/worker-a --to clusterapi --wait

  # The set, and then its Machines, three at a time
  kubectl poundlock migrate machineset/worker-a --to clusterapi --with-machines --max-in-flight 3

  # What would the webhook say?
  kubectl poundlock migrate machineset/worker-a --to clusterapi --dry-run=server

  # All workers back to Machine API
  kubectl poundlock migrate machines -l machine.openshift.io/cluster-api-machine-role=worker --to machineapi --wait --yes

  # The objects that could move according to check, in the order of its output
  kubectl poundlock check machinesets -o name | kubectl poundlock migrate -f - --to clusterapi --yes

  # Cancel the move
  kubectl poundlock migrate machineset/worker-a --cancel`,
		ValidArgsFunction: targets.Complete(p),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	o.Selection.AddFlags(cmd)
	o.Names.AddFlags(cmd)
	flags.StringVar(&o.to, "to", "", "the API to migrate to: clusterapi or machineapi")
	flags.BoolVar(&o.wait, "wait", false, "follow the moves until they are over")
	flags.BoolVar(&o.withMachines, "with-machines", false, "also migrate the Machines of each MachineSet, after the set; implies --wait")
	flags.IntVar(&o.maxInFlight, "max-in-flight", 0, "move at most this many objects at a time, 0 for no limit; implies --wait")
	flags.BoolVar(&o.cancel, "cancel", false, "cancel moves for which the requested API is not authoritative yet")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for a confirmation")
	flags.BoolVar(&o.skipBlocked, "skip-blocked", false, "leave out objects that cannot move, and move the others")
	flags.BoolVar(&o.controlPlane, "include-control-plane", false,
		"also migrate Machines of the control plane, without a second question. With --yes, they move only with this flag")
	cli.AddDryRunFlag(cmd, &o.dryRun, "client: show the plan; server: ask the webhook whether it allows each request; none")
	flags.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long migrate waits for the move of one object, 0 for no limit")
	flags.StringVarP(&o.format, "output", "o", "text", "write the output as text, or as json: one document a line")
	cli.CompleteFlag(cmd, "output", "text", "json")
	_ = cmd.RegisterFlagCompletionFunc("to", targets.CompleteAPI) // no error: the flag exists
	return cmd
}

func (o *options) check(t targets.List) (authority.API, error) {
	o.wait = o.wait || o.withMachines || o.maxInFlight > 0
	switch {
	case len(t) == 0:
		return "", cli.Usagef("migrate needs KIND or KIND/NAME, or -f with names")
	case o.cancel && o.to != "":
		return "", cli.Usagef("--cancel and --to exclude each other: --cancel gives authority back to the API that was authoritative before")
	case !o.cancel && o.to == "":
		return "", cli.Usagef("migrate needs --to clusterapi, --to machineapi or --cancel")
	case o.format != "text" && o.format != "json":
		return "", cli.Usagef("--output %q: give text or json", o.format)
	case o.format == "json" && !o.yes && o.dryRun == "none":
		return "", cli.Usagef("-o json cannot ask for a confirmation: add --yes")
	case o.maxInFlight < 0:
		return "", cli.Usagef("--max-in-flight %d is negative: give a number of objects, or 0 for no limit", o.maxInFlight)
	case o.timeout < 0:
		return "", cli.Usagef("--timeout %s is negative: give how long the move of one object may take, such as 15m, or 0 for no limit", o.timeout)
	case o.cancel:
		return authority.Unset, nil
	}
	return targets.ParseAPI(o.to)
}

func (o *options) run(ctx context.Context, args []string) error {
	if err := cli.CheckDryRun(o.dryRun); err != nil { // first, because --dry-run may have taken the next flag for its value
		return err
	}
	t, err := o.Names.Targets(o.Plugin, args)
	if err != nil {
		return err
	}
	to, err := o.check(t)
	if err != nil {
		return err
	}
	q, err := o.Query(o.Plugin, t)
	if err != nil {
		return err
	}
	q.BootData = true
	if o.withMachines {
		q.Kinds, q.Selector = nil, nil // a set's Machines are found by the set, whatever their labels are
	}
	m := &mover{options: o, Output: o.Printer(), to: to, query: q}
	if o.format == "json" {
		m.Output = printers.Output{Writer: io.Discard}
	}
	if m.client, err = o.Client(m); err != nil {
		return err
	}
	f, err := inventory.FromCluster(ctx, m.client, q)
	if err != nil {
		return err
	}
	if err := m.choose(f, t); err != nil {
		return err
	}
	t.InOrder(f.Pairs)
	if err := m.answered(ctx, q.Pairs[0].ClusterAPI); err != nil {
		return err
	}
	if o.cancel {
		return m.back(ctx, f)
	}
	return m.forth(ctx, f)
}

// answered returns an error for a request that would not be carried out. It also does so for a server dry run, which no webhook would answer. A plan sends no
// request. For a plan, answered only reports, before everything else, that Poundlock is away.
func (m *mover) answered(ctx context.Context, namespace string) error {
	if m.dryRun != "client" {
		return m.carriedOut(ctx, namespace)
	}
	if away := presence.Signs(ctx, m.Plugin, namespace).Away(m.Now()); away != "" {
		m.Linef("%s\n", m.Red(printers.Wrap(away, "", m.Width)))
	}
	return nil
}

// carriedOut returns an error if Poundlock could not execute a request, or if the move would lack admission's locks. A move without locks may still be
// cancelled, because a cancellation shortens the time without locks.
func (o *options) carriedOut(ctx context.Context, namespace string) error {
	seen, err := presence.Try(ctx, o.Plugin, namespace)
	if err != nil || o.cancel && seen.Presence != presence.Silent {
		return err
	}
	return seen.Refuse(o.Now())
}
