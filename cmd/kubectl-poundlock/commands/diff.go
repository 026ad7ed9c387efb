// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/diff"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/policies/authority"
)

type diffOptions struct {
	targets.Files
	cli.OutputFlags
	in  string
	all bool
}

func diffCommand(p *plugin) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff KIND/NAME",
		Short: "Compare an object's two sides, field by field, in the words of one API",
		Long: `Compare an object's two sides, field by field, in the words of one API: both go through the conversion, so that what merely looks
different is not told. The exit code is 3 where something differs.

Labels and annotations that the mirror leaves as they are do not count: what others write to the mirror alone, and what the Machine API's controllers keep up to
date, such as a Machine's zone. --all shows them, with a dot.`,
		Example: `  kubectl poundlock diff machineset/worker-a
  kubectl poundlock diff machine/master-0 --in clusterapi --all
  kubectl poundlock diff machine/master-0 -f ./must-gather.local.5421`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: targets.Complete(p.Plugin),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.diff(cmd.Context(), *o, args) },
	}
	o.Files.AddFlags(cmd, "files, folders or - to read instead of the cluster")
	o.OutputFlags.AddFlags(cmd, "table", "json", "yaml")
	cmd.Flags().StringVar(&o.in, "in", "machineapi", "in whose words: machineapi or clusterapi")
	cmd.Flags().BoolVar(&o.all, "all", false, "show the fields that are the same too, and those that the mirror leaves to others")
	_ = cmd.RegisterFlagCompletionFunc("in", targets.CompleteAPI) // the flag is there
	return cmd
}

func (p *plugin) diff(ctx context.Context, o diffOptions, args []string) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	in, err := targets.ParseAPI(o.in)
	if err != nil {
		return cli.Usagef("--in %q: want clusterapi or machineapi", o.in)
	}
	t, err := targets.Parse(args)
	if err != nil {
		return err
	}
	if len(t) != 1 || t[0].Name == "" {
		return cli.Usagef("diff wants one object: KIND/NAME")
	}
	f, err := p.one(ctx, o.Files, t[0], args)
	if err != nil {
		return err
	}
	if len(f.Pairs) == 0 {
		pairs, err := p.Pairs()
		if err != nil {
			return err
		}
		return t[0].Absent(pairs)
	}
	return p.writeDiff(o, f, f.Pairs[0], in)
}

// one reads a single pair, from targets.Files or from the cluster.
func (p *plugin) one(ctx context.Context, from targets.Files, t targets.Target, args []string) (*inventory.Fleet, error) {
	if len(from.Paths) > 0 {
		return from.Gather(ctx, p.Plugin, targets.Selection{}, args)
	}
	pairs, err := p.Pairs()
	if err != nil {
		return nil, err
	}
	client, err := p.Client(nil)
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

func (p *plugin) writeDiff(o diffOptions, f *inventory.Fleet, pair inventory.Pair, in authority.API) error {
	env, err := f.Env(f.Describe(o.Said), pair)
	if err != nil {
		return err
	}
	c, err := diff.Compare(pair, in, env)
	if err != nil {
		return fmt.Errorf("%s: %w", pair.Ref(), err)
	}
	if done, err := p.Document(o.OutputFlags, "Comparison", c); done {
		return unless(c.Same(), err)
	}
	difference{p.Printer(), pair, o.all}.write(c)
	return unless(c.Same(), nil)
}

func unless(same bool, err error) error {
	if err == nil && !same {
		return cli.Exit(cli.CodeNo, "")
	}
	return err
}

// difference writes a comparison for people.
type difference struct {
	printers.Output
	pair inventory.Pair
	all  bool
}

func (w difference) write(c diff.Comparison) {
	if len(c.Unspeakable) > 0 {
		w.Linef("The two sides of %s cannot be compared in the words of one API:", w.pair.Ref())
		for _, u := range c.Unspeakable {
			w.Linef("\n%s  %s", w.Bold(u.Path), w.Dim("of "+u.Side.Text()))
			w.Linef("%s", printers.Wrap(u.Reason, "    ", w.Width))
		}
		return
	}
	differ, own := 0, 0
	rows := [][]string{{"", "FIELD", w.side(authority.MachineAPI), w.side(authority.ClusterAPI)}}
	for _, r := range c.Rows {
		switch {
		case r.Differs():
			differ++
			rows = append(rows, []string{w.Red("≠"), r.Path, printers.Dash(r.MachineAPI), printers.Dash(r.ClusterAPI)})
		case r.Own && w.all:
			own++
			rows = append(rows, []string{w.Dim("·"), r.Path, printers.Dash(r.MachineAPI), printers.Dash(r.ClusterAPI)})
		case r.Own:
			own++
		case w.all:
			rows = append(rows, []string{" ", r.Path, printers.Dash(r.MachineAPI), w.Dim(printers.Dash(r.ClusterAPI))})
		}
	}
	if len(rows) > 1 {
		w.Table(rows)
		w.Linef("")
	}
	w.Linef("%s: %s, in the words of %s; %d the same%s.", w.pair.Ref(), differs(differ), c.In.Text(), len(c.Rows)-differ-own, left(own))
}

// left counts what is not compared.
func left(own int) string {
	if own == 0 {
		return ""
	}
	return fmt.Sprintf(", %d left to others (--all)", own)
}

func differs(n int) string {
	switch n {
	case 0:
		return "no field differs"
	case 1:
		return "1 field differs"
	}
	return fmt.Sprintf("%d fields differ", n)
}

func (w difference) side(api authority.API) string {
	if w.pair.Authoritative() == api {
		return map[authority.API]string{authority.MachineAPI: "MACHINE API (authoritative)", authority.ClusterAPI: "CLUSTER API (authoritative)"}[api]
	}
	return map[authority.API]string{authority.MachineAPI: "MACHINE API", authority.ClusterAPI: "CLUSTER API"}[api]
}
