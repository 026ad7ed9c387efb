// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// statusOptions are the flags of status.
type statusOptions struct {
	*cli.Plugin
	cli.OutputFlags
	watch bool
}

func newStatus(p *cli.Plugin) *cobra.Command {
	o := &statusOptions{Plugin: p}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the progress of the ControlPlaneMachineSet and its Machines, and what they wait for",
		Long: `Show the progress of the ControlPlaneMachineSet and its Machines, and what they wait for: hooks that hold a Machine which is being deleted, by name and
owner, Nodes that are not ready, and the conditions of the set and of the ClusterOperator.

READY, UPDATED and what each Machine waits for are computed from the present Machines and Nodes; the conditions are what the operator wrote.
--watch continues if the API server does not answer for a moment, for example while the Machine on which the API server runs is replaced.`,
		Example: `  kubectl poundlock controlplane status

  # Until Ctrl-C
  kubectl poundlock controlplane status --watch

  # What holds the Machines that are being deleted?
  kubectl poundlock controlplane status -o json | jq '.indexes[].machines[] | select(.deleting) | {name, waitsFor}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.OutputFlags.AddFlags(cmd, "table", "wide", "json", "yaml")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "keep showing changes, until Ctrl-C")
	return cmd
}

func (o *statusOptions) run(ctx context.Context) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	client, err := o.Client(nil)
	if err != nil {
		return err
	}
	if o.watch {
		return o.follow(ctx, client)
	}
	s, err := standing(ctx, o.Plugin, client)
	if err != nil {
		return err
	}
	if s.disagrees() && (o.Format == "table" || o.Format == "wide") {
		if s, err = o.again(ctx, client, s); err != nil {
			return err
		}
	}
	return o.write(s)
}

// again reads the set a second time, a moment later, if the first reading differs from the set's status.
func (o *statusOptions) again(ctx context.Context, client dynamic.Interface, before Standing) (Standing, error) {
	select {
	case <-ctx.Done():
		return before, ctx.Err()
	case <-time.After(looks):
	}
	s, err := standing(ctx, o.Plugin, client)
	return s.after(before), err
}

func standing(ctx context.Context, p *cli.Plugin, client dynamic.Interface) (Standing, error) {
	m, err := findMasters(ctx, p, client)
	if err != nil {
		return Standing{}, err
	}
	if m.stored == nil {
		return Standing{}, m.none()
	}
	seen, err := m.see(ctx, sourceOf(""), m.stored)
	if err != nil {
		return Standing{}, err
	}
	operator, unread := m.operator(ctx)
	s, err := StandingOf(seen.view(), m.stored, operator)
	s.Away = m.away(ctx)
	if unread != nil { // the set's own status is useful without the ClusterOperator
		s.Unread = append(s.Unread, fmt.Sprintf("ClusterOperator %s: %v", controlplane.OperatorName, inventory.Allowed(unread)))
	}
	return s, err
}

// away returns the sentence that Poundlock does not answer, or that no manager leads, and since when; "" if all is well or unknown. `kubectl poundlock status`
// prints the same sentence.
func (m *masters) away(ctx context.Context) string {
	pairs, err := m.Pairs()
	if err != nil {
		return ""
	}
	return presence.Signs(ctx, m.Plugin, pairs[0].ClusterAPI).Away(m.Now())
}

// operator reads the ClusterOperator; nil if it does not exist or its kind is not served.
func (m *masters) operator(ctx context.Context) (*configv1.ClusterOperator, error) {
	u, err := m.client.Resource(clusterOperators).Get(ctx, controlplane.OperatorName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &configv1.ClusterOperator{}
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
}

func (o *statusOptions) write(s Standing) error {
	if done, err := o.Document(o.OutputFlags, "ControlPlaneStatus", s); done {
		return err
	}
	roster{o.Printer().Uncut(o.Format == "wide"), o.Format == "wide", o.Now()}.write(s)
	return nil
}

// looks is the interval between two readings of a watch. A control plane has a handful of objects, which change in minutes.
const looks = 2 * time.Second

// follow redraws the set in place on a terminal; elsewhere it writes the set again when the set has changed. It polls instead of watching, because a watch
// breaks when the Machine that serves it is deleted.
func (o *statusOptions) follow(ctx context.Context, client dynamic.Interface) error {
	w, last := &lookout{statusOptions: o}, Standing{}
	ticks := time.NewTicker(looks)
	defer ticks.Stop()
	for {
		s, err := standing(ctx, o.Plugin, client)
		if ctx.Err() != nil {
			return nil // Ctrl-C ends a watch
		}
		s, last = s.after(last), s
		if err = w.show(s, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// lookout is the state of a watch.
type lookout struct {
	*statusOptions
	// seen is what was shown last. began reports that something was shown.
	seen  string
	began bool
}

// unaged returns the standing without the time for which Poundlock has not answered, because that changes all the time.
func (s Standing) unaged() Standing {
	if s.Away != "" {
		s.Away = "away"
	}
	return s
}

// show writes the set if it has changed. An error ends the watch if it is the first result, or if a retry would not help.
func (w *lookout) show(s Standing, err error) error {
	if err != nil && (!w.began || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)) {
		return err
	}
	paper := w.Printer().Uncut(w.Format == "wide")
	inPlace := paper.Terminal && (w.Format == "table" || w.Format == "wide")
	now, encodeErr := json.Marshal(s.unaged())
	if s.lags {
		now = append(now, " lags"...)
	}
	if err != nil {
		now = []byte(err.Error())
	}
	if same := string(now) == w.seen; encodeErr != nil || same && !inPlace {
		return encodeErr
	}
	w.seen, w.began = string(now), true
	if err != nil {
		fmt.Fprintf(w.ErrOut, "%s  no answer from the API server, trying again: %v\n", w.Now().Format(time.TimeOnly), err)
		return nil
	}
	if inPlace {
		roster{paper, w.Format == "wide", w.Now()}.repaint(s)
		return nil
	}
	return w.write(s)
}
