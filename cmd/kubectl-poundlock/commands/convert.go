// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/convert"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

func convertCommand(p *plugin) *cobra.Command {
	o := &convertOptions{}
	cmd := &cobra.Command{
		Use:   "convert [KIND[/NAME]…] [-f FILE…]",
		Short: "Convert objects from either API into the other, with comments where something changed",
		Long: `Convert objects from either API into the other, with comments where something changed. Without -f the objects are the cluster's; with -f they are
the files', and no cluster is asked.

Machine API objects become Cluster API's core object and the infrastructure object behind it; a Cluster API object, given together with
its infrastructure object, becomes the Machine API object. What cannot go is said on standard error, field by field, and nothing is
written of that object. Where the answer depends on something of the cluster that the files do not have, convert names it, and the exit code is 1.`,
		Example: `  kubectl poundlock convert machineset/worker-a
  kubectl poundlock convert -f machineset.yaml
  kubectl poundlock convert -f infrastructure.yaml -f machineset.yaml --comments=false
  kubectl -n openshift-cluster-api get machinesets.cluster.x-k8s.io,awsmachinetemplates -o yaml | kubectl poundlock convert -f -`,
		ValidArgsFunction: targets.Complete(p.Plugin),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.convert(cmd.Context(), *o, args) },
	}
	o.Files.AddFlags(cmd, "files, folders or - to convert instead of the cluster's objects")
	o.OutputFlags.AddFlags(cmd, "yaml", "json")
	cmd.Flags().BoolVar(&o.comments, "comments", true, "say in comments where a field came from and what changed")
	return cmd
}

type convertOptions struct {
	targets.Files
	cli.OutputFlags
	comments bool
}

func (p *plugin) convert(ctx context.Context, o convertOptions, args []string) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	if len(o.Paths) == 0 && len(args) == 0 {
		return cli.Usagef("convert wants KIND/NAME of the cluster, or -f: files, folders, or - for standard input")
	}
	f, err := o.Gather(ctx, p.Plugin, targets.Selection{}, args)
	if err != nil {
		return err
	}
	return p.convertAll(o, f)
}

func (p *plugin) convertAll(o convertOptions, f *inventory.Fleet) error {
	cluster := f.Describe(o.Said)
	for _, problem := range f.Problems {
		fmt.Fprintf(p.ErrOut, "cannot be read: %s: %s\n", problem.Source, problem.Text)
	}
	for _, text := range f.Unchecked() {
		fmt.Fprintln(p.ErrOut, "note:", text)
	}
	if len(f.Pairs) == 0 && len(f.Problems) == 0 {
		return cli.Exit(cli.CodeError, "there is no Machine, MachineSet or MachineHealthCheck to convert")
	}
	for _, text := range cluster.Assumed {
		fmt.Fprintln(p.ErrOut, "note:", text)
	}
	var all []any
	refused, untold := 0, 0
	for _, pair := range f.Pairs {
		env, unknown := f.Env(cluster, pair)
		errs, needs := unconvertible(pair, env, unknown, f.Lacks(cluster, env))
		switch {
		case len(errs) > 0:
			refused++
			p.refuse(pair, errs)
			continue
		case len(needs.Names()) > 0:
			untold++
			fmt.Fprintf(p.ErrOut, "%s: whether it converts to %s is unknown: %s\n", pair.Ref(), destination(pair).Text(), needs.Sentence(pair))
			continue
		}
		made, errs := converted(pair, env)
		if len(errs) > 0 { // the same conversion has just said otherwise
			return errs.ToAggregate()
		}
		for _, one := range made {
			if o.Format == "json" {
				all = append(all, one.object.Object)
			} else if err := one.write(p.Out, o.comments); err != nil {
				return err
			}
		}
	}
	if o.Format == "json" {
		if _, err := p.Document(o.OutputFlags, "List", map[string]any{"apiVersion": "v1", "kind": "List", "items": all}); err != nil {
			return err
		}
	}
	return converts(len(f.Problems)+untold, refused)
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

func (p *plugin) refuse(pair inventory.Pair, errs field.ErrorList) {
	fmt.Fprintf(p.ErrOut, "%s cannot be converted to %s:\n", pair.Ref(), destination(pair).Text())
	for _, e := range errs {
		fmt.Fprintf(p.ErrOut, "  %s: %s\n", e.Field, e.Detail)
	}
}

// piece is one object of what a pair becomes.
type piece struct {
	object *unstructured.Unstructured
	source *unstructured.Unstructured
	header string
	rows   []convert.Row
}

func (c piece) write(w io.Writer, comments bool) error {
	rows, header := c.rows, c.header
	if !comments {
		rows, header = nil, ""
	}
	fmt.Fprintln(w, "---")
	return convert.Write(w, header, c.object.Object, c.source.Object, rows)
}

// unconvertible returns why the pair does not convert, or what an answer needs.
func unconvertible(pair inventory.Pair, env conversion.Env, unknown error, lacks []inventory.Lack) (errs field.ErrorList, needs readiness.Needs) {
	if unknown != nil {
		return field.ErrorList{{Type: field.ErrorTypeNotSupported, Field: "platform", Detail: unknown.Error()}}, needs
	}
	return readiness.Unconvertible(pair, env, lacks)
}

// destination is the API that is converted to: away from the authoritative one, or from the only one that has the object.
func destination(pair inventory.Pair) authority.API {
	if pair.Authoritative() == authority.MachineAPI || pair.ClusterAPI == nil {
		return authority.ClusterAPI
	}
	return authority.MachineAPI
}

func converted(pair inventory.Pair, env conversion.Env) ([]piece, field.ErrorList) {
	if destination(pair) == authority.ClusterAPI {
		return toClusterAPI(pair, env)
	}
	return toMachineAPI(pair, env)
}

func toClusterAPI(pair inventory.Pair, env conversion.Env) ([]piece, field.ErrorList) {
	source := content(pair.MachineAPI)
	twin, errs := core.ToClusterAPI(pair.Kind.Name, source, env)
	if len(errs) > 0 {
		return nil, errs
	}
	at := places(pair.Kind)
	platform := convert.Rows(linesOf(env), conversion.OnlyClusterAPI, convert.Place{Name: "providerSpec", Source: at.providerSpec,
		Target: at.infra, Core: at.template})
	rows := append(convert.Core(platform), convert.Rows(tableOf(pair.Kind), conversion.OnlyClusterAPI, convert.Place{})...)
	header := fmt.Sprintf(
		"From %s %s of the Machine API. This is its content; Poundlock's mirror also sets\nowner references, the sync finalizer and, while Machine API is authoritative, the pause.",
		pair.Kind.Name, pair.Name)
	out := []piece{{twin.Core, source, header, rows}}
	if twin.Infra != nil {
		out = append(out, piece{twin.Infra, source, "", platform})
	}
	return out, nil
}

func toMachineAPI(pair inventory.Pair, env conversion.Env) ([]piece, field.ErrorList) {
	twin := core.Twin{Core: content(pair.ClusterAPI)}
	if pair.Infra != nil {
		twin.Infra = content(pair.Infra)
	}
	made, errs := core.ToMachineAPI(pair.Kind.Name, twin, env)
	if len(errs) > 0 {
		return nil, errs
	}
	at := places(pair.Kind)
	rows := convert.Rows(linesOf(env), conversion.OnlyMachineAPI, convert.Place{Name: env.Platform.InfraMachine.Kind, Target: at.providerSpec, Core: at.template})
	rows = append(rows, convert.Rows(tableOf(pair.Kind), conversion.OnlyMachineAPI, convert.Place{})...)
	header := fmt.Sprintf("From %s %s of Cluster API. To have Poundlock take it over, create it with spec.authoritativeAPI: ClusterAPI.",
		pair.Kind.Name, pair.Name)
	return []piece{{made, twin.Core, header, rows}}, nil
}

func linesOf(env conversion.Env) []conversion.Line {
	if env.Platform.Spec == nil {
		return nil
	}
	return env.Platform.Spec.Lines()
}

func tableOf(kind authority.Kind) []conversion.Line {
	switch kind.Name {
	case "Machine":
		return core.Machines.Lines()
	case "MachineSet":
		return core.MachineSets.Lines()
	}
	return core.MachineHealthChecks.Lines()
}

// spots are where a kind's objects have a machine's fields.
type spots struct{ template, providerSpec, infra string }

func places(kind authority.Kind) spots {
	if kind.Infra == authority.InfraMachineTemplate {
		return spots{"spec.template", "spec.template.spec.providerSpec.value", "spec.template.spec"}
	}
	return spots{"", "spec.providerSpec.value", "spec"}
}

// content is an object as conversions take it.
func content(o *policies.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(o.Raw()); err != nil {
		return &unstructured.Unstructured{Object: map[string]any{"kind": o.Kind, "metadata": map[string]any{"name": o.Metadata.Name}}}
	}
	return u
}
