// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
)

// options are the flags of status.
type options struct {
	*cli.Plugin
	targets.Selection
	targets.Names
	cli.OutputFlags
	watch        bool
	withMachines bool
}

// NewCommand is `kubectl poundlock status`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	cmd := &cobra.Command{
		Use:   "status [KIND[/NAME]…]",
		Short: "Show which API is authoritative for each object, and what each object waits for",
		Long: `Show which API is authoritative for each object, and what each object waits for.

AUTHORITY is the authoritative API, and, after an arrow, the requested one. SYNCED shows whether the mirror equals the authoritative object. PAUSED shows
the condition Paused of each side, Machine API's first. SINCE is the time in the present state.`,
		Example: `  # The fleet at a glance
  kubectl poundlock status

  # One set and all Machines, until Ctrl-C
  kubectl poundlock status machineset/worker-a machines --watch

  # One set and its Machines
  kubectl poundlock status machineset/worker-a --with-machines

  # Objects that are not in order, for a script
  kubectl poundlock status -o json | jq '.objects[] | select(.reason)'`,
		ValidArgsFunction: targets.Complete(p),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.Selection.AddFlags(cmd)
	o.Names.AddFlags(cmd)
	o.OutputFlags.AddFlags(cmd, "table", "wide", "json", "yaml", "name")
	o.AddTableFlags(cmd)
	cmd.Flags().BoolVar(&o.withMachines, "with-machines", false, "also show the Machines of each MachineSet")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "keep showing changes, until Ctrl-C")
	return cmd
}

func (o *options) run(ctx context.Context, args []string) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	t, err := o.Names.Targets(o.Plugin, args)
	if err != nil {
		return err
	}
	q, err := o.Query(o.Plugin, t)
	if err != nil {
		return err
	}
	matches := q.Matches
	if o.withMachines {
		q.Kinds, q.Selector = nil, nil // a set's Machines are found by the set, whatever their labels are
	}
	q.WithoutInfrastructure, q.Parents = true, true // if a set is mirrored, standingOf converts its Machines that only Cluster API has, as far as possible
	narrow := func(f *inventory.Fleet) {
		if o.withMachines {
			f.Narrow(t.WithMachines(f.Pairs, matches))
		} else {
			f.Narrow(t.Mean)
		}
	}
	if o.watch {
		return o.follow(ctx, q, t, narrow)
	}
	f, err := targets.FromCluster(ctx, o.Plugin, q)
	if err != nil {
		return err
	}
	narrow(f)
	if err := t.Named(f, q.Pairs); err != nil {
		return err
	}
	s := surveyOf(f)
	s.nothing = t.Nothing(o.Selector, "")
	s.Away, s.Terminating = o.away(ctx, q.Pairs[0].ClusterAPI), o.terminating(ctx, q.Pairs)
	s.GateOff, s.GateUnknown = o.gate(ctx)
	return o.writeSurvey(s)
}

// away returns the sentence that Poundlock does not answer, or that no manager leads, and since when; "" if all is well or unknown.
func (o *options) away(ctx context.Context, namespace string) string {
	return presence.Signs(ctx, o.Plugin, namespace).Away(o.Now())
}

// gate returns the sentence that the feature gate is off, or the sentence about what the user may not read of the gate.
func (o *options) gate(ctx context.Context) (off, unknown string) {
	s, err := presence.ReadServer(ctx, o.Plugin)
	if err != nil {
		return "", ""
	}
	return s.GateOff(), s.GateUnknown()
}

func (o *options) writeSurvey(s survey) error {
	var err error
	if s.Objects, err = cli.Sorted(o.OutputFlags, s.Objects); err != nil {
		return err
	}
	if done, err := o.Document(o.OutputFlags, "StatusReport", s); done {
		return err
	}
	if o.Format == "name" {
		for _, one := range s.Objects {
			fmt.Fprintln(o.Out, one.Object())
		}
		return nil
	}
	o.glance(o.OutputFlags).write(s)
	return nil
}

func (o *options) glance(flags cli.OutputFlags) glance {
	return glance{Output: o.Printer().Uncut(flags.Format == "wide"), OutputFlags: flags, now: o.Now()}
}

// follow redraws the fleet in place on a terminal; elsewhere it adds a line for each object that changed.
func (o *options) follow(ctx context.Context, q inventory.Query, t targets.List, narrow func(*inventory.Fleet)) error {
	client, err := o.Client(nil)
	if err != nil {
		return err
	}
	seen, away, terminating := map[string]string{}, o.away(ctx, q.Pairs[0].ClusterAPI), o.terminating(ctx, q.Pairs)
	gateOff, gateUnknown := o.gate(ctx)
	err = inventory.Follow(ctx, client, q, time.Second, func(f *inventory.Fleet) (bool, error) {
		narrow(f)
		s := surveyOf(f)
		s.nothing = t.Nothing(o.Selector, "")
		s.Away, s.GateOff, s.GateUnknown, s.Terminating = away, gateOff, gateUnknown, terminating
		w := o.glance(o.OutputFlags)
		if w.Terminal && (o.Format == "table" || o.Format == "wide") {
			w.repaint(s)
			return false, nil
		}
		return false, o.writeChanged(s, seen)
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // Ctrl-C ends a watch
	}
	return err
}

// writeChanged writes a line for each object that has changed.
func (o *options) writeChanged(s survey, seen map[string]string) error {
	var changed []standing.Standing
	begins := len(seen) == 0
	for _, one := range s.Objects {
		now := fmt.Sprintf("%+v", one)
		if seen[one.Namespace+one.Ref()] != now {
			seen[one.Namespace+one.Ref()] = now
			changed = append(changed, one)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if o.Format == "table" || o.Format == "wide" {
		out := o.OutputFlags
		out.NoHeaders = out.NoHeaders || !begins // the headings are above the first lines
		o.glance(out).rows(changed)
		return nil
	}
	return o.writeSurvey(survey{Objects: changed, Progress: s.Progress})
}
