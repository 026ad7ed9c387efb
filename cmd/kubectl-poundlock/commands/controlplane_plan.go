// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/controlplane"
	"github.com/poundlock/poundlock/facts"
	policy "github.com/poundlock/poundlock/policies/controlplane"
)

type controlPlanePlanOptions struct {
	cli.OutputFlags
	file     string
	strategy string
	dryRun   string
}

func controlPlanePlanCommand(p *plugin) *cobra.Command {
	o := &controlPlanePlanOptions{}
	cmd := &cobra.Command{
		Use:   "plan [-f FILE]",
		Short: "Tell what a ControlPlaneMachineSet does with the control plane, step by step",
		Long: `Tell what a ControlPlaneMachineSet does with the control plane: which index belongs in which failure domain, which Machines differ from
the template and in which fields, what is done about each, and in which order. Of an Inactive set it is what it would do once it is Active.

With -f it is what the set in the file would do, and what the webhook's rules say of it; Machines, Nodes and the Infrastructure are read from
the cluster. What the file's spec leaves out is as the stored set has it. The rules are asked here, and not what the CRD itself checks;
--dry-run=server has the API server, and with it the webhook, try to store it.

Nothing is changed. The exit code is 3 where the set can do nothing until something is fixed, or admission would refuse it.`,
		Example: `  # What is next?
  kubectl poundlock controlplane plan

  # A larger instance: which Machines would be replaced, and in which order?
  kubectl -n openshift-machine-api get controlplanemachineset cluster -o yaml > set.yaml   # then edit it
  kubectl poundlock controlplane plan -f set.yaml

  # The same if a person is to set the pace
  kubectl poundlock controlplane plan -f set.yaml --strategy OnDelete

  # For a script: the Machines that would be replaced
  kubectl poundlock controlplane plan -f set.yaml -o json | jq -r '.indexes[].machines[] | select(.updated | not).name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.controlPlanePlan(cmd.Context(), *o) },
	}
	o.OutputFlags.AddFlags(cmd, "table", "wide", "json", "yaml")
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "a file with a ControlPlaneMachineSet, or - for standard input, to plan with instead of the stored one")
	cmd.Flags().StringVar(&o.strategy, "strategy", "", "plan as if spec.strategy.type were this: RollingUpdate, OnDelete, Recreate")
	cmd.Flags().StringVar(&o.dryRun, "dry-run", "client",
		"with a change, who says whether it may be stored: client (the webhook's rules, asked here) or server (a dry run)")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // the flag is there
	cli.CompleteFlag(cmd, "strategy", strategies...)
	cli.CompleteFlag(cmd, "dry-run", "client", "server")
	return cmd
}

func (p *plugin) controlPlanePlan(ctx context.Context, o controlPlanePlanOptions) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	if o.dryRun != "client" && o.dryRun != "server" {
		return cli.Usagef("--dry-run %q: want client or server", o.dryRun)
	}
	strategy, err := parseStrategy(o.strategy)
	if err != nil {
		return err
	}
	var file *unstructured.Unstructured
	if o.file != "" {
		if file, err = p.setFile(o.file); err != nil {
			return err
		}
	}
	t := &trial{}
	client, err := p.Client(t)
	if err != nil {
		return err
	}
	m, err := p.findMasters(ctx, client)
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
	if proposed, err = controlplane.With(proposed, strategy); err != nil {
		return err
	}
	seen, err := m.see(ctx, sourceOf(o.file), proposed)
	if err != nil {
		return err
	}
	m.try(ctx, seen)
	var admission *controlplane.Admission
	if file != nil || strategy != "" {
		if admission, err = m.admission(ctx, t, o.dryRun == "server", proposed, seen.in); err != nil {
			return err
		}
		// Whether the strategy Recreate is allowed, only the webhook that runs there knows.
		seen.in.MayRecreate = seen.in.MayRecreate || admission.By == controlplane.ByServer && admission.Allowed
	}
	r := controlplane.ReportOf(sourceOf(o.file), seen.view())
	r.Admission = admission
	return p.writePlan(o.OutputFlags, r)
}

// setFile reads the one set of -f.
func (p *plugin) setFile(path string) (*unstructured.Unstructured, error) {
	if path == "-" {
		return controlplane.Parse(sourceOf(path), p.In)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading -f %s: %w", path, err)
	}
	defer f.Close()
	return controlplane.Parse(sourceOf(path), io.LimitReader(f, largestSet))
}

func parseStrategy(text string) (machinev1.ControlPlaneMachineSetStrategyType, error) {
	if text == "" {
		return "", nil
	}
	i := slices.IndexFunc(strategies, func(s string) bool { return strings.EqualFold(s, text) })
	if i < 0 {
		return "", cli.Usagef("--strategy %q: want %s", text, strings.Join(strategies, ", "))
	}
	return machinev1.ControlPlaneMachineSetStrategyType(strategies[i]), nil
}

// try asks the API server, as the operator does before it acts, what admission makes of the Machines that the plan compares with and creates.
// Nothing is stored.
func (m *masters) try(ctx context.Context, s *sight) {
	plan := policy.Make(s.view())
	trials := plan.NeededTrials()
	for _, t := range trials {
		t.Machine.OwnerReferences = nil // whether the reader may refer to the set says nothing about the Machine
	}
	answers, err := facts.Try(ctx, dryRunner{m.client}, trials)
	for _, a := range answers {
		if a.Unanswered != "" && err == nil {
			err = errors.New(a.Unanswered)
		}
	}
	s.in.Trials = answers
	if err != nil {
		fmt.Fprintf(m.ErrOut, "What admission makes of new Machines is not in this plan: %v\n", err)
	}
}

// dryRunner creates Machines with a dry run.
type dryRunner struct{ dynamic.Interface }

// Create has the API server try, and puts what it would store into the object.
func (r dryRunner) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	u, is := o.(*unstructured.Unstructured)
	if !is {
		return fmt.Errorf("creating %T: want an unstructured object", o)
	}
	got, err := r.Resource(machinev1beta1.GroupVersion.WithResource("machines")).Namespace(u.GetNamespace()).Create(ctx, u,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: cli.FieldManager})
	if err == nil {
		u.Object = got.Object
	}
	return err
}

// propose is the file's set in the cluster: over the stored one, or a new one.
func (m *masters) propose(file *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	pairs, err := m.Pairs()
	if err != nil {
		return nil, err
	}
	switch in := file.GetNamespace(); {
	case in == "" || in == m.namespace:
	case m.stored != nil || len(pairs) == 1:
		return nil, cli.Usagef("the file's namespace is %s, and the cluster's set belongs in %s: correct it, or leave it out", in, m.namespace)
	default:
		m.namespace = in
	}
	stored := m.stored
	if stored != nil && stored.GetName() != file.GetName() {
		stored = nil // another one, which is a new one; a rule has a word on its name
	}
	out := controlplane.Over(stored, file)
	out.SetNamespace(m.namespace)
	return out, nil
}

func (p *plugin) writePlan(o cli.OutputFlags, r controlplane.Report) error {
	done, err := p.Document(o, "ControlPlanePlan", r)
	if !done {
		foresight{p.Printer(), o.Format == "wide"}.write(r)
	}
	if err == nil && r.Stuck() {
		return cli.Exit(cli.CodeNo, "")
	}
	return err
}
