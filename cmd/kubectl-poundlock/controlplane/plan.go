// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
)

// planOptions are the flags of plan.
type planOptions struct {
	*cli.Plugin
	cli.OutputFlags
	file     string
	strategy string
	dryRun   string
}

func newPlan(p *cli.Plugin) *cobra.Command {
	o := &planOptions{Plugin: p}
	cmd := &cobra.Command{
		Use:   "plan [-f FILE]",
		Short: "Show what a ControlPlaneMachineSet does with the control plane, step by step",
		Long: `Show what a ControlPlaneMachineSet does with the control plane: which index belongs in which failure domain, which Machines differ from
the template and in which fields, what the set does about each difference, and in which order. For an Inactive set, plan shows what the set would do
if it were Active.

With -f, plan shows what the set in the file would do, and whether the webhook's rules allow it. plan reads Machines, Nodes and the Infrastructure from
the cluster. Fields that the file's spec leaves out keep the stored set's values. plan itself evaluates the rules, but not the CRD's validation.
With --dry-run=server, the API server and the webhook check the set instead, in a dry run.

A Machine that has lost its Node is replaced first. plan cannot read how long a Node may be not ready before it counts as lost, and assumes the
manager's default for --control-plane-not-ready-grace, 20 minutes. With another value, the order may differ.

plan changes nothing. The exit code is 3 if the set can do nothing until something is fixed, or if admission would refuse the set.`,
		Example: `  # What does the set do next?
  kubectl poundlock controlplane plan

  # A larger instance: which Machines would be replaced, and in which order?
  kubectl -n openshift-machine-api get controlplanemachineset cluster -o yaml > set.yaml   # then edit it
  kubectl poundlock controlplane plan -f set.yaml

  # The same change, if a person decides when each Machine is replaced
  kubectl poundlock controlplane plan -f set.yaml --strategy OnDelete

  # For a script: the Machines that would be replaced
  kubectl poundlock controlplane plan -f set.yaml -o json | jq -r '.indexes[].machines[] | select(.updated | not).name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.OutputFlags.AddFlags(cmd, "table", "wide", "json", "yaml")
	cmd.Flags().StringVarP(&o.file, "filename", "f", "",
		"plan with the ControlPlaneMachineSet in this file or URL, or - for standard input, instead of the stored set")
	cmd.Flags().StringVar(&o.strategy, "strategy", "", "plan as if spec.strategy.type were this: RollingUpdate, OnDelete, Recreate")
	cmd.Flags().StringVar(&o.dryRun, "dry-run", "client",
		"what checks a changed set: client (this command evaluates the webhook's rules) or server (the API server, in a dry run)")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // no error: the flag exists
	cli.CompleteFlag(cmd, "strategy", strategies...)
	cli.CompleteFlag(cmd, "dry-run", "client", "server")
	return cmd
}

func (o *planOptions) run(ctx context.Context) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	if o.dryRun != "client" && o.dryRun != "server" {
		return cli.Usagef("--dry-run %q: give client or server", o.dryRun)
	}
	strategy, err := parseStrategy(o.strategy)
	if err != nil {
		return err
	}
	var file *unstructured.Unstructured
	if o.file != "" {
		if file, err = o.setFile(o.file); err != nil {
			return err
		}
	}
	m, t, err := triedMasters(ctx, o.Plugin)
	if err != nil {
		return err
	}
	proposed := m.stored
	if file != nil {
		if proposed, err = m.propose(file); err != nil {
			return err
		}
	}
	if proposed == nil {
		return m.none()
	}
	if proposed, err = With(proposed, strategy); err != nil {
		return err
	}
	seen, err := m.see(ctx, sourceOf(o.file), proposed)
	if err != nil {
		return err
	}
	m.try(ctx, seen)
	var admission *Admission
	if file != nil || strategy != "" {
		if admission, err = m.admission(ctx, t, o.dryRun == "server", proposed, seen.in); err != nil {
			return err
		}
		// Only the webhook in the cluster can decide whether the strategy Recreate is allowed.
		seen.in.MayRecreate = seen.in.MayRecreate || admission.By == ByServer && admission.Allowed
	}
	r := ReportOf(sourceOf(o.file), seen.view())
	r.Admission, r.Away = admission, m.away(ctx)
	return o.write(r)
}

// largestSet is more than an API server stores.
const largestSet = 16 << 20

// setFile reads the only set in the file of -f.
func (o *planOptions) setFile(path string) (*unstructured.Unstructured, error) {
	if path == "-" {
		return Parse(sourceOf(path), o.In)
	}
	if inventory.IsURL(path) {
		var all []map[string]any
		err := inventory.Built(sourceOf(path), &resource.FilenameOptions{Filenames: []string{path}}, func(object *unstructured.Unstructured) error {
			all = append(all, object.Object)
			return nil
		})
		if err != nil {
			return nil, err
		}
		return only(sourceOf(path), all)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading -f %s: %w", path, err)
	}
	defer f.Close()
	return Parse(sourceOf(path), io.LimitReader(f, largestSet))
}

// strategies are the values of --strategy.
var strategies = []string{string(machinev1.RollingUpdate), string(machinev1.OnDelete), string(machinev1.Recreate)}

func parseStrategy(text string) (machinev1.ControlPlaneMachineSetStrategyType, error) {
	if text == "" {
		return "", nil
	}
	i := slices.IndexFunc(strategies, func(s string) bool { return strings.EqualFold(s, text) })
	if i < 0 {
		return "", cli.Usagef("--strategy %q: give one of %s", text, strings.Join(strategies, ", "))
	}
	return machinev1.ControlPlaneMachineSetStrategyType(strategies[i]), nil
}

// propose returns the set as the cluster would store it: the stored set with the file's fields, or a new set.
func (m *masters) propose(file *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	pairs, err := m.Pairs()
	if err != nil {
		return nil, err
	}
	switch in := file.GetNamespace(); {
	case in == "" || in == m.namespace:
	case m.stored != nil || len(pairs) == 1:
		return nil, cli.Usagef("metadata.namespace of the file is %s, and the cluster's set is in %s: correct the namespace, or leave it out", in, m.namespace)
	default:
		m.namespace = in
	}
	stored := m.stored
	if stored != nil && stored.GetName() != file.GetName() {
		stored = nil // a set of another name is a new one, and a rule checks its name
	}
	out := Over(stored, file)
	out.SetNamespace(m.namespace)
	return out, nil
}

func (o *planOptions) write(r Report) error {
	done, err := o.Document(o.OutputFlags, "ControlPlanePlan", r)
	if !done {
		foresight{o.Printer().Uncut(o.Format == "wide"), o.Format == "wide"}.write(r)
	}
	if err == nil && r.Stuck() {
		return cli.Exit(cli.CodeNo, "")
	}
	return err
}
