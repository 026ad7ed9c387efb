// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
)

// options are the flags of convert.
type options struct {
	*cli.Plugin
	targets.Files
	cli.OutputFlags
	comments bool
}

// NewCommand is `kubectl poundlock convert`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p, Files: targets.Files{Parents: true}}
	cmd := &cobra.Command{
		Use:   "convert [KIND[/NAME]…] [-f FILE…]",
		Short: "Convert objects from one API to the other, with comments where something changed",
		Long: `Convert objects from one API to the other, with comments where something changed. Without -f, convert reads the objects from the cluster;
with -f, convert reads only the files.

Machine API objects become Cluster API's core object and the infrastructure object behind it; a Cluster API object, given together with
its infrastructure object, becomes the Machine API object. For an object that does not convert, convert writes no object, and lists on standard error
each field that cannot convert. If the answer depends on an object of the cluster that the files do not have, convert names that object, and the exit
code is 1.`,
		Example: `  kubectl poundlock convert machineset/worker-a
  kubectl poundlock convert -f machineset.yaml
  kubectl poundlock convert -f infrastructure.yaml -f machineset.yaml --comments=false
  kubectl -n openshift-cluster-api get machinesets.cluster.x-k8s.io,awsmachinetemplates -o yaml | kubectl poundlock convert -f -`,
		ValidArgsFunction: targets.Complete(p),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.Files.AddFlags(cmd, "convert the objects in these files, folders, URLs or - (standard input) instead of the cluster's")
	o.OutputFlags.AddFlags(cmd, "yaml", "json")
	cmd.Flags().BoolVar(&o.comments, "comments", true, "write comments that show where a field came from and what changed")
	return cmd
}

func (o *options) run(ctx context.Context, args []string) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	if o.None() && len(args) == 0 {
		return cli.Usagef("convert needs KIND/NAME of an object in the cluster, or -f (files, folders, URLs, or - for standard input), or -k")
	}
	f, err := o.Gather(ctx, o.Plugin, targets.Selection{}, args)
	if err != nil {
		return err
	}
	return o.write(f)
}

func (o *options) write(f *inventory.Fleet) error {
	cluster := f.Describe(o.Given)
	for _, problem := range f.Problems {
		fmt.Fprintf(o.ErrOut, "cannot be read: %s: %s\n", problem.Source, problem.Text)
	}
	for _, text := range f.Unchecked() {
		fmt.Fprintln(o.ErrOut, "note:", text)
	}
	if len(f.Pairs) == 0 && len(f.Problems) == 0 {
		return cli.Exit(cli.CodeError, "there is no Machine, MachineSet or MachineHealthCheck to convert")
	}
	for _, text := range cluster.Assumed {
		fmt.Fprintln(o.ErrOut, "note:", text)
	}
	all := []any{}
	refused, unconverted := 0, 0
	doubts := map[string]bool{}
	for _, pair := range f.Pairs {
		env, unknown := f.Env(cluster, pair)
		errs, needs := unconvertible(pair, env, unknown, f.Lacks(cluster, env))
		switch {
		case len(errs) > 0:
			refused++
			o.refuse(pair, errs)
			continue
		case needs.Missing() != "":
			refused++
			o.refuse(pair, field.ErrorList{{Detail: needs.Missing()}})
			continue
		case len(needs.Names()) > 0:
			unconverted++
			fmt.Fprintf(o.ErrOut, "%s: it is unknown whether this object converts to %s: %s\n", pair.Ref(), destination(pair).Text(), needs.Sentence(pair))
			continue
		}
		if doubt := readiness.Doubts(pair, env, f.Lacks(cluster, env)); len(doubt.Names()) > 0 && !doubts[doubt.Sentence(pair)] {
			doubts[doubt.Sentence(pair)] = true
			fmt.Fprintln(o.ErrOut, "note: "+cmp.Or(doubt.Missing(), doubt.Sentence(pair)))
		}
		if why := unmovable(pair, env, f.Lacks(cluster, env)); why != "" {
			fmt.Fprintf(o.ErrOut, "note: %s converts, but cannot move to %s: %s\n", pair.Ref(), destination(pair).Text(), why)
		}
		if o.Format != "yaml" || !o.comments { // otherwise a comment has them
			for _, field := range leftOut(pair, env) {
				fmt.Fprintf(o.ErrOut, "note: %s: the conversion left out %s: %s\n", pair.Ref(), field.Path, field.Reason)
			}
		}
		made, errs := converted(pair, env, f.SelectsBy(pair))
		if len(errs) > 0 { // such an error contradicts the earlier conversion
			return errs.ToAggregate()
		}
		for _, one := range made {
			if o.Format != "yaml" { // YAML is written object by object, with comments
				all = append(all, one.object.Object)
			} else if err := one.write(o.Out, o.comments); err != nil {
				return err
			}
		}
	}
	if o.Format != "yaml" {
		if _, err := o.Document(o.OutputFlags, "List", map[string]any{"apiVersion": "v1", "kind": "List", "items": all}); err != nil {
			return err
		}
	}
	return converts(len(f.Problems)+unconverted, refused)
}

func converts(unanswered, refused int) error {
	switch {
	case unanswered > 0:
		return cli.Exit(cli.CodeError, "")
	case refused > 0:
		return cli.Exit(cli.CodeNo, "")
	}
	return nil
}

func (o *options) refuse(pair inventory.Pair, errs field.ErrorList) {
	fmt.Fprintf(o.ErrOut, "%s cannot be converted to %s:\n", pair.Ref(), destination(pair).Text())
	for _, e := range errs {
		fmt.Fprintf(o.ErrOut, "  %s\n", strings.TrimPrefix(e.Field+": "+e.Detail, ": ")) // if the infrastructure object is gone, no field is wrong
	}
}

// piece is one object of a pair's result.
type piece struct {
	object *unstructured.Unstructured
	source *unstructured.Unstructured
	header string
	rows   []Row
}

func (c piece) write(w io.Writer, comments bool) error {
	rows, header := c.rows, c.header
	if !comments {
		rows, header = nil, ""
	}
	fmt.Fprintln(w, "---")
	return Write(w, header, c.object.Object, c.source.Object, rows)
}
