// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/controlplane"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
	policy "github.com/poundlock/poundlock/policies/controlplane"
)

type controlPlaneStatusOptions struct {
	cli.OutputFlags
	watch bool
}

func controlPlaneStatusCommand(p *plugin) *cobra.Command {
	o := &controlPlaneStatusOptions{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show where the ControlPlaneMachineSet and its Machines are, and what is waited for",
		Long: `Show where the ControlPlaneMachineSet and its Machines are, and what is waited for: hooks that hold a Machine which is being deleted, by name and
owner, Nodes that are not ready, and what the set and the ClusterOperator say of themselves.

READY, UPDATED and what is waited for are read off Machines and Nodes now; the conditions are what the operator has written. --watch goes on when the
API server is away for a moment, as it is while the Machine that it runs on is replaced.`,
		Example: `  kubectl poundlock controlplane status

  # Until Ctrl-C
  kubectl poundlock controlplane status --watch

  # What holds the Machines that are being deleted?
  kubectl poundlock controlplane status -o json | jq '.indexes[].machines[] | select(.deleting) | {name, waitsFor}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.controlPlaneStatus(cmd.Context(), *o) },
	}
	o.OutputFlags.AddFlags(cmd, "table", "wide", "json", "yaml")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on showing what changes, until Ctrl-C")
	return cmd
}

func (p *plugin) controlPlaneStatus(ctx context.Context, o controlPlaneStatusOptions) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	client, err := p.Client(nil)
	if err != nil {
		return err
	}
	if o.watch {
		return p.watchControlPlane(ctx, client, o)
	}
	s, err := p.standing(ctx, client)
	if err != nil {
		return err
	}
	return p.writeStanding(o.OutputFlags, s)
}

func (p *plugin) standing(ctx context.Context, client dynamic.Interface) (controlplane.Standing, error) {
	m, err := p.findMasters(ctx, client)
	if err != nil {
		return controlplane.Standing{}, err
	}
	if m.stored == nil {
		return controlplane.Standing{}, m.none()
	}
	seen, err := m.see(ctx, sourceOf(""), m.stored)
	if err != nil {
		return controlplane.Standing{}, err
	}
	operator, unread := m.operator(ctx)
	s, err := controlplane.StandingOf(seen.view(), m.stored, operator)
	if unread != nil { // what the set says of itself is worth having without it
		s.Unread = append(s.Unread, fmt.Sprintf("ClusterOperator %s: %v", policy.OperatorName, unread))
	}
	return s, err
}

// operator reads the ClusterOperator; nil where there is none, or the cluster has no such kind.
func (m *masters) operator(ctx context.Context) (*configv1.ClusterOperator, error) {
	u, err := m.client.Resource(clusterOperators).Get(ctx, policy.OperatorName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &configv1.ClusterOperator{}
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
}

func (p *plugin) writeStanding(o cli.OutputFlags, s controlplane.Standing) error {
	if done, err := p.Document(o, "ControlPlaneStatus", s); done {
		return err
	}
	roster{p.Printer(), o.Format == "wide", p.Now()}.write(s)
	return nil
}

// looks is how often a watch looks: a control plane is a handful of objects, and changes in minutes.
const looks = 2 * time.Second

// watchControlPlane shows the set anew in the same place on a terminal; elsewhere it writes it again when it has changed. It asks again, and does not watch: a
// connection does not outlive the Machine that it ends at.
func (p *plugin) watchControlPlane(ctx context.Context, client dynamic.Interface, o controlPlaneStatusOptions) error {
	w := &lookout{plugin: p, OutputFlags: o.OutputFlags}
	ticks := time.NewTicker(looks)
	defer ticks.Stop()
	for {
		s, err := p.standing(ctx, client)
		if ctx.Err() != nil {
			return nil // Ctrl-C is how a watch ends
		}
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

// lookout is a watch.
type lookout struct {
	*plugin
	cli.OutputFlags
	// seen is what was shown last; began says that something was.
	seen  string
	began bool
}

// show shows what has changed. An error ends the watch if it is the first thing that is seen, or if asking again changes nothing.
func (w *lookout) show(s controlplane.Standing, err error) error {
	if err != nil && (!w.began || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)) {
		return err
	}
	paper := w.Printer()
	inPlace := paper.Terminal && (w.Format == "table" || w.Format == "wide")
	now, encodeErr := json.Marshal(s)
	if err != nil {
		now = []byte(err.Error())
	}
	if same := string(now) == w.seen; encodeErr != nil || same && !inPlace {
		return encodeErr
	}
	w.seen, w.began = string(now), true
	if err != nil {
		fmt.Fprintf(w.ErrOut, "%s  not answered, asking again: %v\n", w.Now().Format(time.TimeOnly), err)
		return nil
	}
	if inPlace {
		fmt.Fprint(paper, "\x1b[H\x1b[J")
	}
	return w.writeStanding(w.OutputFlags, s)
}

// roster writes where a set is for people.
type roster struct {
	printers.Output
	wide bool
	now  time.Time
}

func (w roster) write(s controlplane.Standing) {
	w.set(s)
	w.Linef("")
	w.indexes(s)
	if len(s.Conditions)+len(s.ClusterOperator) > 0 {
		w.Linef("")
		w.conditions(s)
	}
	w.remarks(s)
	for _, text := range s.Unread {
		w.remark("Not read: " + text)
	}
	foresight{w.Output, w.wide}.problems(s.Problems)
	if len(s.WaitsFor) > 0 {
		w.Linef("\nWaited for:")
		for _, text := range s.WaitsFor {
			foresight{w.Output, w.wide}.hang("  - ", text)
		}
	}
}

func (w roster) set(s controlplane.Standing) {
	state := w.Green(s.State)
	if s.State != "Active" {
		state = w.Yellow(s.State)
	}
	if s.Deleting {
		state += w.Yellow(" (being deleted)")
	}
	n := s.Numbers
	w.Table([][]string{
		{"SET", "STATE", "STRATEGY", "AUTHORITY", "REPLICAS", "MACHINES", "READY", "UPDATED", "UNAVAILABLE"},
		{"controlplanemachineset/" + s.Name, state, s.Strategy, w.authority(s), fmt.Sprint(s.Replicas), fmt.Sprint(n.Replicas), fmt.Sprint(n.Ready),
			fmt.Sprint(n.Updated), fmt.Sprint(n.Unavailable)},
	})
}

func (w roster) authority(s controlplane.Standing) string {
	switch {
	case s.AuthoritativeAPI == authority.Unset:
		return printers.Dash("")
	case s.AuthoritativeAPI == authority.Migrating:
		return w.Yellow("moving to " + s.RequestedAPI.Text())
	case s.RequestedAPI != authority.Unset && s.RequestedAPI != s.AuthoritativeAPI:
		return w.Yellow(s.AuthoritativeAPI.Text() + " → " + s.RequestedAPI.Text())
	}
	return s.AuthoritativeAPI.Text()
}

func (w roster) indexes(s controlplane.Standing) {
	rows := [][]string{{"INDEX", "FAILURE DOMAIN", "MACHINE", "PHASE", "READY", "UPDATED", "DIFFERS IN"}}
	if w.wide {
		rows[0] = append(rows[0], "NODE", "OWNED", "AUTHORITY")
	}
	f := foresight{w.Output, w.wide}
	for _, i := range s.Indexes {
		for _, m := range i.Machines {
			row := []string{fmt.Sprint(i.Index), printers.Dash(i.FailureDomain), m.Name, printers.Dash(w.phase(m)), f.yes(m.Ready), f.yes(m.Updated), w.differs(m)}
			if w.wide {
				row = append(row, printers.Dash(m.Node), f.yes(m.Adopted), printers.Dash(m.AuthoritativeAPI))
			}
			rows = append(rows, row)
		}
		if len(i.Machines) == 0 {
			rows = append(rows, []string{fmt.Sprint(i.Index), printers.Dash(i.FailureDomain), "-", w.Yellow("none is there")})
		}
	}
	w.Table(rows)
}

func (w roster) phase(m controlplane.Machine) string {
	switch {
	case m.Failed:
		return w.Red(m.Phase)
	case m.Deleting && m.Phase != "Deleting":
		return w.Yellow(strings.TrimSpace(m.Phase + " (being deleted)"))
	}
	return m.Phase
}

// differs names the fields that lead to a replacement.
func (w roster) differs(m controlplane.Machine) string {
	const most = 3
	var out []string
	for _, d := range m.In(policy.Rollout) {
		out = append(out, foresight{w.Output, w.wide}.field(d.Path))
	}
	if more := len(out) - most; more > 0 && !w.wide {
		out = append(out[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// wanted are the statuses of conditions that are in order; of any other condition nothing is known.
var wanted = map[string]string{
	"Available": "True", "Progressing": "False", "Degraded": "False", "Upgradeable": "True", "Error": "False", "Generated": "True", "Synchronized": "True", "AuthoritySettled": "True",
}

// inOrder are conditions in the same order each time: an object has them in the order in which they were written.
func inOrder(all []controlplane.Condition) []controlplane.Condition {
	first := []string{"Available", "Progressing", "Degraded", "Upgradeable"}
	place := func(c controlplane.Condition) int {
		if i := slices.Index(first, c.Type); i >= 0 {
			return i
		}
		return len(first)
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b controlplane.Condition) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Type, b.Type))
	})
}

func (w roster) conditions(s controlplane.Standing) {
	rows := [][]string{{"CONDITION", "OF", "STATUS", "REASON", "SINCE"}}
	var said []controlplane.Condition
	add := func(of string, all []controlplane.Condition) {
		for _, c := range inOrder(all) {
			rows = append(rows, []string{c.Type, of, w.status(c), printers.Dash(c.Reason), w.since(c)})
			if c.Message != "" && wanted[c.Type] != c.Status &&
				!slices.ContainsFunc(said, func(k controlplane.Condition) bool { return strings.HasSuffix(c.Message, k.Message) }) {
				said = append(said, c)
			}
		}
	}
	add("the set", s.Conditions)
	add("clusteroperator/"+policy.OperatorName, s.ClusterOperator)
	w.Table(rows)
	for _, c := range said {
		w.Linef("\n%s  %s", w.Bold(c.Type+"="+c.Status), w.Dim(c.Reason))
		w.Linef("%s", printers.Wrap(c.Message, "    ", w.Width))
	}
}

func (w roster) status(c controlplane.Condition) string {
	switch wanted[c.Type] {
	case "":
		return c.Status
	case c.Status:
		return w.Green(c.Status)
	}
	if c.Type == "Progressing" {
		return w.Yellow(c.Status)
	}
	return w.Red(c.Status)
}

func (w roster) since(c controlplane.Condition) string {
	if c.Since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(c.Age(w.now))
}

// remarks are what is odd about the set's status.
func (w roster) remarks(s controlplane.Standing) {
	switch {
	case s.Unobserved() && s.ObservedGeneration == 0:
		w.remark("No operator has looked at this set yet: Poundlock's runs with `poundlock manager --control-plane`, and OpenShift has one of its own.")
	case s.Unobserved():
		w.remark(fmt.Sprintf("The set was changed since its operator looked at it last (generation %d, observed %d): the conditions are of before.",
			s.Generation, s.ObservedGeneration))
	case s.Reported != s.Numbers:
		w.remark(fmt.Sprintf(
			"The set's status counts %s, %d ready, %d updated, %d unavailable: its operator has yet to see what is there now, or does not run.",
			amount.Of(s.Reported.Replicas, "Machine"), s.Reported.Ready, s.Reported.Updated, s.Reported.Unavailable))
	}
}

func (w roster) remark(text string) { w.Linef("\n%s", printers.Wrap(w.Yellow(text), "", w.Width)) }
