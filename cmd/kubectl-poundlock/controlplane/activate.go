// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// activateOptions are the flags of activate.
type activateOptions struct {
	*cli.Plugin
	yes    bool
	dryRun string
}

func newActivate(p *cli.Plugin) *cobra.Command {
	o := &activateOptions{Plugin: p}
	cmd := &cobra.Command{
		Use:   "activate",
		Short: "Show what the ControlPlaneMachineSet will do, and activate the set",
		Long: `Activate the ControlPlaneMachineSet. The command first shows what the set will do and what admission warns of, and asks for a confirmation. The
command does not activate a set that could do nothing, or that admission would refuse, and activates no set while Poundlock does not answer.

An Active set cannot be made Inactive again. To stop the set, delete the set in the background: the set's Machines stay, and Poundlock generates a
new, Inactive set.`,
		Example: `  kubectl poundlock controlplane activate

  # What would the webhook say?
  kubectl poundlock controlplane activate --dry-run=server`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for a confirmation")
	cli.AddDryRunFlag(cmd, &o.dryRun, "client: show the plan; server: ask the webhook whether it allows the activation; none")
	return cmd
}

func (o *activateOptions) run(ctx context.Context) error {
	if err := cli.CheckDryRun(o.dryRun); err != nil {
		return err
	}
	m, t, err := triedMasters(ctx, o.Plugin)
	if err != nil {
		return err
	}
	if m.stored == nil {
		return m.none()
	}
	a := &activation{masters: m, Output: o.Printer(), flags: o, trial: t}
	seen, err := m.see(ctx, sourceOf(""), m.stored)
	if err != nil {
		return err
	}
	m.try(ctx, seen)
	return a.activate(ctx, ReportOf(sourceOf(""), seen.view()), seen.in)
}

// activation executes one run of `kubectl poundlock controlplane activate`.
type activation struct {
	*masters
	printers.Output
	*trial
	flags *activateOptions
	// shown are the warnings that were printed already.
	shown []string
}

func (a *activation) activate(ctx context.Context, r Report, in policies.ControlPlane) error {
	switch {
	case r.State == "Active":
		a.Linef("controlplanemachineset/%s is already Active. To see what the set does: kubectl poundlock controlplane plan", r.Name)
		return nil
	case a.stored.GetDeletionTimestamp() != nil:
		return cli.Exit(cli.CodeNo, "the ControlPlaneMachineSet is being deleted, so it was not activated")
	}
	foresight{a.Output, false}.write(r)
	if err := a.allowed(r, in); err != nil {
		return err
	}
	a.Linef("")
	for _, f := range forecast(r) {
		a.Linef("%s", printers.Wrap(a.Bold(f), "", a.Width))
	}
	if a.flags.dryRun == "client" {
		a.Linef("\nNothing was changed (--dry-run=client).")
		return nil
	}
	if err := a.carriedOut(ctx); err != nil { // a server dry run needs an answering webhook, too
		return err
	}
	if err := a.patch(ctx, metav1.DryRunAll); err != nil { // the warnings come before the question, because a confirmed activation cannot be taken back
		return err
	}
	if a.flags.dryRun == "server" {
		a.done("would be activated (server dry run)")
		return nil
	}
	if err := a.Confirm(ctx, a.flags.yes, "Activate the set? An Active set cannot be made Inactive again."); err != nil {
		return err
	}
	if err := a.patch(ctx); err != nil {
		return err
	}
	a.done("is Active")
	a.Linef("\nThe set's operator carries out the plan. To watch its progress: kubectl poundlock controlplane status --watch")
	return nil
}

func (a *activation) done(what string) {
	a.Linef("\ncontrolplanemachineset/%s %s.", a.stored.GetName(), a.Green(what))
}

// carriedOut returns an error if Poundlock could not execute an activation, because an activation cannot be taken back.
func (a *activation) carriedOut(ctx context.Context) error {
	pairs, err := a.Pairs()
	if err != nil {
		return err
	}
	seen, err := presence.Try(ctx, a.Plugin, pairs[0].ClusterAPI)
	if err != nil {
		return err
	}
	return seen.Refuse(a.Now())
}

// forecast returns the text to confirm. If Machines are only adopted, forecast has its own text, because the webhook's text would contradict the steps that
// were shown before.
func forecast(r Report) []string {
	owns := func(s ForecastStep) bool { return s.Verb == string(controlplane.Adopt) }
	if len(r.Steps) > 0 && !slices.ContainsFunc(r.Steps, func(s ForecastStep) bool { return !owns(s) }) {
		return []string{"No Machine is created, changed or deleted."}
	}
	var out []string
	for _, f := range r.Forecast {
		out = append(out, sentence(f))
	}
	return out
}

// allowed returns an error for an activation that would have no effect, and for one that admission would refuse.
func (a *activation) allowed(r Report, in policies.ControlPlane) error {
	active, err := Active(a.stored)
	if err != nil {
		return err
	}
	judged, err := Judge(a.stored, active, in)
	if err != nil {
		return err
	}
	if !judged.Allowed {
		foresight{a.Output, false}.admission(*judged)
	}
	if len(r.Problems) > 0 || !judged.Allowed {
		return cli.Exit(cli.CodeNo, "the set was not activated: first fix the problem above")
	}
	return nil
}

// patch sets spec.state to Active, if the set has not changed since it was read, and prints admission's warnings.
func (a *activation) patch(ctx context.Context, dryRun ...string) error {
	active, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": a.stored.GetResourceVersion()},
		"spec":     map[string]any{"state": "Active"},
	})
	if err != nil {
		return err
	}
	a.warned = nil
	options := metav1.PatchOptions{FieldManager: cli.FieldManager, DryRun: dryRun}
	_, err = a.client.Resource(controlPlaneSets).Namespace(a.namespace).Patch(ctx, a.stored.GetName(), types.MergePatchType, active, options)
	a.warn()
	switch {
	case versioned.Outdated(err):
		return cli.Exit(cli.CodeNo, "the set was changed after this plan was made, so the set was not activated. Run the same command again for a new plan")
	case err != nil:
		return cli.Exit(cli.CodeNo, fmt.Sprintf("refused: %v", inventory.AllowedToMigrate(err)))
	}
	return nil
}

// warn prints the last request's warnings that were not printed yet.
func (a *activation) warn() {
	first := true
	for _, text := range printers.Whole(a.warned) {
		o := Opinion{Message: text}
		if forecasts(o) || slices.Contains(a.shown, text) { // the plan, which was shown before, has the forecast
			continue
		}
		if first {
			a.Linef("")
		}
		first, a.shown = false, append(a.shown, text)
		foresight{a.Output, false}.opinion(a.Yellow("warning: "), o)
	}
}
