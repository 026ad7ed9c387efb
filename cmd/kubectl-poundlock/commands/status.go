// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/status"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
)

type statusOptions struct {
	targets.Selection
	targets.Names
	cli.OutputFlags
	watch bool
}

func statusCommand(p *plugin) *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status [KIND[/NAME]…]",
		Short: "Show which API is authoritative for what, and what is waited for",
		Long: `Show which API is authoritative for what, and what is waited for.

AUTHORITY is which API is authoritative, and, with an arrow, who is asked for. SYNCED is whether the mirror equals the authoritative object. PAUSED is
what the controllers of each side say, Machine API's first. SINCE is how long it has been so.`,
		Example: `  # The fleet at a glance
  kubectl poundlock status

  # One set and all Machines, until Ctrl-C
  kubectl poundlock status machineset/worker-a machines --watch

  # What is not in order, for a script
  kubectl poundlock status -o json | jq '.objects[] | select(.reason)'`,
		ValidArgsFunction: targets.Complete(p.Plugin),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.status(cmd.Context(), *o, args) },
	}
	o.Selection.AddFlags(cmd)
	o.Names.AddFlags(cmd)
	o.OutputFlags.AddFlags(cmd, "table", "wide", "json", "yaml", "name")
	o.AddTableFlags(cmd)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on showing what changes, until Ctrl-C")
	return cmd
}

// survey is what status says, as a program reads it.
type survey struct {
	Objects  []standing.Standing `json:"objects"`
	Progress []status.Progress   `json:"progress,omitempty"`
	// Neighbours counts the objects that others write to, too, by who.
	Neighbours map[string]int `json:"neighbours,omitempty"`
	// Rival is what of OpenShift's own migration keeps everything where it is.
	Rival string `json:"rival,omitempty"`
	// Away reports that Poundlock does not answer, and since when.
	Away string `json:"away,omitempty"`
	// GateOff reports that the feature gate is off, and what follows.
	GateOff string `json:"gateOff,omitempty"`

	leftAlone int
}

func surveyOf(f *inventory.Fleet) survey {
	s := survey{Objects: []standing.Standing{}, Rival: f.Rival}
	for _, pair := range f.Pairs {
		if pair.MachineAPI != nil && !pair.Kind.HasAuthority(pair.MachineAPI) {
			s.leftAlone++
			continue
		}
		s.Objects = append(s.Objects, standing.Of(pair))
		if pair.MachineAPI != nil {
			s.write(authority.Neighbours(pair.Kind.Name, pair.MachineAPI))
		}
	}
	s.Progress = status.ProgressOf(s.Objects)
	return s
}

// first are the sentences that come before all else.
func (s *survey) first() []string {
	return slices.DeleteFunc([]string{s.Away, s.GateOff}, func(text string) bool { return text == "" })
}

// away returns that nobody answers or leads, and since when; "" where all is well, or where that is unknown.
func (p *plugin) away(ctx context.Context, namespace string) string {
	is, lease := presence.Signs(ctx, p.Plugin, namespace)
	return presence.Away(is, lease, p.Now())
}

// gateOff returns that the feature gate is off, as far as the user may read it.
func (p *plugin) gateOff(ctx context.Context) string {
	s, err := presence.Read(ctx, p.Plugin)
	if err != nil {
		return ""
	}
	return s.GateOff()
}

// write counts who else writes to an object.
func (s *survey) write(by []authority.Neighbour) {
	for _, n := range by {
		if s.Neighbours == nil {
			s.Neighbours = map[string]int{}
		}
		s.Neighbours[n.Who]++
	}
}

func (p *plugin) status(ctx context.Context, o statusOptions, args []string) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	t, err := o.Names.Targets(p.Plugin, args)
	if err != nil {
		return err
	}
	q, err := o.Query(p.Plugin, t)
	if err != nil {
		return err
	}
	if o.watch {
		return p.watchStatus(ctx, o, q, t)
	}
	f, err := targets.FromCluster(ctx, p.Plugin, q)
	if err != nil {
		return err
	}
	if err := t.Pick(f, q.Pairs); err != nil {
		return err
	}
	s := surveyOf(f)
	s.Away, s.GateOff = p.away(ctx, q.Pairs[0].ClusterAPI), p.gateOff(ctx)
	return p.writeSurvey(o, s)
}

func (p *plugin) writeSurvey(o statusOptions, s survey) error {
	var err error
	if s.Objects, err = cli.Sorted(o.OutputFlags, s.Objects); err != nil {
		return err
	}
	if done, err := p.Document(o.OutputFlags, "StatusReport", s); done {
		return err
	}
	if o.Format == "name" {
		for _, one := range s.Objects {
			fmt.Fprintln(p.Out, one.Object())
		}
		return nil
	}
	glance{p.Printer(), o.OutputFlags, p.Now()}.write(s)
	return nil
}

// watchStatus shows the fleet anew in the same place on a terminal; elsewhere it adds a line for each object that changed.
func (p *plugin) watchStatus(ctx context.Context, o statusOptions, q inventory.Query, t targets.List) error {
	client, err := p.Client(nil)
	if err != nil {
		return err
	}
	seen, away, gateOff := map[string]string{}, p.away(ctx, q.Pairs[0].ClusterAPI), p.gateOff(ctx)
	err = inventory.Follow(ctx, client, q, time.Second, func(f *inventory.Fleet) (bool, error) {
		f.Narrow(t.Mean)
		s := surveyOf(f)
		s.Away, s.GateOff = away, gateOff
		w := glance{p.Printer(), o.OutputFlags, p.Now()}
		if w.Terminal && (o.Format == "table" || o.Format == "wide") {
			w.repaint(s)
			return false, nil
		}
		return false, p.writeNews(o, s, seen)
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // Ctrl-C is how a watch ends
	}
	return err
}

// writeNews writes the objects that are not as they were seen last.
func (p *plugin) writeNews(o statusOptions, s survey, seen map[string]string) error {
	var news []standing.Standing
	for _, one := range s.Objects {
		now := fmt.Sprintf("%+v", one)
		if seen[one.Namespace+one.Ref()] != now {
			seen[one.Namespace+one.Ref()] = now
			news = append(news, one)
		}
	}
	if len(news) == 0 {
		return nil
	}
	if o.Format == "table" || o.Format == "wide" {
		out := o.OutputFlags
		out.NoHeaders = out.NoHeaders || len(seen) > len(news) // the first lines have had the headings
		glance{p.Printer(), out, p.Now()}.rows(news)
		return nil
	}
	return p.writeSurvey(o, survey{Objects: news, Progress: s.Progress})
}

// glance writes the fleet for people.
type glance struct {
	printers.Output
	cli.OutputFlags
	now time.Time
}

func (w glance) wide() bool { return w.Format == "wide" }

func (w glance) write(s survey) {
	for _, text := range s.first() {
		w.Linef("%s\n", w.Red(printers.Wrap(text, "", w.Width)))
	}
	if len(s.Objects) == 0 {
		w.Linef("No Machine, MachineSet or MachineHealthCheck was found.")
		return
	}
	w.rows(s.Objects)
	w.Linef("")
	w.counts(s.Objects)
	for _, p := range s.Progress {
		w.Linef("%s", w.bar(p))
	}
	if s.leftAlone > 0 {
		w.Linef("%s", w.Dim(fmt.Sprintf("%s left alone: the CRD has no authoritativeAPI.", amount.Of(s.leftAlone, "MachineHealthCheck"))))
	}
	w.messages(s.Objects)
	w.others(s)
}

// repaint shows the fleet in the place of what was shown before, and never more than the terminal's height: else the top, with the headings, would be gone.
func (w glance) repaint(s survey) {
	whole := &bytes.Buffer{}
	paper := w
	paper.Writer = whole
	paper.write(s)
	if w.Height > 0 && bytes.Count(whole.Bytes(), []byte("\n")) >= w.Height {
		whole.Reset()
		paper.writeWithin(s, w.Height-1)
	}
	fmt.Fprintf(w, "\x1b[H\x1b[J%s", whole)
}

// writeWithin leaves out the sentences, and objects that are in order.
func (w glance) writeWithin(s survey, height int) {
	first := s.first()
	for _, text := range first {
		w.Linef("%s", w.Red(text))
	}
	const headings, more, counts = 1, 1, 1
	shown, left := status.Fit(s.Objects, height-headings-more-counts-len(s.Progress)-len(first)*2)
	w.rows(shown)
	if left > 0 {
		w.Linef("%s", w.Dim(fmt.Sprintf("and %d more", left)))
	}
	w.counts(s.Objects)
	for _, p := range s.Progress {
		w.Linef("%s", w.bar(p))
	}
}

// others names who else acts in the cluster.
func (w glance) others(s survey) {
	if s.Rival != "" {
		w.Linef("\n%s", w.Red(printers.Wrap("Nothing moves: Poundlock does nothing beside OpenShift's own migration, or the two would fight. Stop or remove "+
			s.Rival+".", "", w.Width)))
	}
	var names []string
	for _, who := range slices.Sorted(maps.Keys(s.Neighbours)) {
		names = append(names, fmt.Sprintf("%s (%d)", who, s.Neighbours[who]))
	}
	if len(names) > 0 {
		w.Linef("\n%s", w.Dim(printers.Wrap("Written to by others, too: "+strings.Join(names, ", ")+". What a move changes for them: kubectl poundlock check",
			"", w.Width)))
	}
}

func (w glance) rows(all []standing.Standing) {
	rows := [][]string{{"OBJECT", "AUTHORITY", "SYNCED", "PAUSED", "SINCE", "WAITS FOR"}}
	if w.wide() {
		rows = [][]string{{"OBJECT", "SPEC", "STATUS", "SYNCED", "PAUSED MACHINE API", "PAUSED CLUSTER API", "PAUSED INFRASTRUCTURE", "SINCE",
			"WAITS FOR", "NAMESPACE"}}
	}
	for _, s := range all {
		if w.wide() {
			rows = append(rows, []string{s.Ref(), printers.Dash(string(s.Requested)), printers.Dash(string(s.Current)), w.truth(s.Synchronized), printers.Dash(string(s.Paused.MachineAPI)),
				printers.Dash(string(s.Paused.ClusterAPI)), printers.Dash(string(s.Paused.Infrastructure)), w.since(s), w.waits(s), s.Namespace})
			continue
		}
		rows = append(rows, []string{s.Ref(), w.authority(s), w.truth(s.Synchronized), yesNo(s.Paused.MachineAPI) + "/" +
			yesNo(s.Paused.ClusterAPI), w.since(s), w.waits(s)})
	}
	w.Table(w.Headless(rows))
}

func yesNo(s metav1.ConditionStatus) string {
	switch s {
	case metav1.ConditionTrue:
		return "yes"
	case metav1.ConditionFalse:
		return "no"
	}
	return "?"
}

func (w glance) authority(s standing.Standing) string {
	switch {
	case s.Current == authority.Unset:
		return w.Yellow("nobody yet → " + printers.Dash(s.Requested.Text()))
	case s.Current == authority.Migrating:
		return w.Yellow(s.Origin.Text() + " ⇒ " + s.Requested.Text())
	case s.Moving():
		return w.Yellow(s.Current.Text() + " → " + s.Requested.Text())
	}
	return s.Current.Text()
}

func (w glance) truth(s metav1.ConditionStatus) string {
	switch s {
	case metav1.ConditionTrue:
		return w.Green("yes")
	case metav1.ConditionFalse:
		return w.Red("no")
	case "":
		return "-"
	}
	return w.Yellow("unknown")
}

func (w glance) since(s standing.Standing) string {
	if s.Since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(s.Age(w.now))
}

func (w glance) waits(s standing.Standing) string {
	reason := s.Reason
	if s.Deleting {
		reason = strings.TrimSpace(reason + " (being deleted)")
	}
	return w.Yellow(reason)
}

func (w glance) counts(all []standing.Standing) {
	by := map[string]int{}
	for _, s := range all {
		switch {
		case s.Current == authority.Unset:
			by["with nobody yet"]++
		case s.Moving():
			by["asked to move or moving"]++
		default:
			by["with "+s.Current.Text()]++
		}
	}
	var parts []string
	for _, part := range []string{"with Machine API", "with Cluster API", "asked to move or moving", "with nobody yet"} {
		if by[part] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[part], part))
		}
	}
	w.Linef("%s: %s.", w.Bold(amount.Of(len(all), "object")), strings.Join(parts, ", "))
}

const barWidth = 30

// bar is how much of the fleet is there.
func (w glance) bar(p status.Progress) string {
	done := barWidth * p.There / p.All
	return fmt.Sprintf("%s %s %d of %d there, %d on the way", p.To.Text(), "["+w.Green(strings.Repeat("#", done))+strings.Repeat(".", barWidth-done)+"]",
		p.There, p.All, p.Moving)
}

// messages says in whole sentences what is waited for, each once.
func (w glance) messages(all []standing.Standing) {
	const most = 10
	shown, fields := 0, false
	for _, s := range all {
		if s.Message == "" || s.Reason == readiness.ReasonFields {
			fields = fields || s.Reason == readiness.ReasonFields
			continue
		}
		if shown++; shown > most {
			continue
		}
		w.Linef("\n%s  %s", w.Bold(s.Ref()), w.Dim(s.Reason))
		w.Linef("%s", printers.Wrap(s.Message, "    ", w.Width))
	}
	if shown > most {
		w.Linef("\nand %d more that wait: -o json has every message", shown-most)
	}
	if fields {
		w.Linef("\n%s: kubectl poundlock check tells each field and why.", readiness.ReasonFields)
	}
}
