// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
)

// glance writes the fleet for a person.
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
		if s.leftAlone > 0 {
			w.leftAlone(s)
		} else {
			w.Linef("%s", s.nothing)
		}
		w.unread(s)
		return
	}
	w.rows(s.Objects)
	w.Linef("")
	w.counts(s.Objects)
	for _, p := range s.Progress {
		w.Linef("%s", w.bar(p))
	}
	w.leftAlone(s)
	w.messages(s.Objects)
	w.others(s)
	w.unread(s)
}

// leftAlone prints the number of health checks whose CRD has no fields of authority.
func (w glance) leftAlone(s survey) {
	if s.leftAlone > 0 {
		w.Linef("%s", w.Dim(fmt.Sprintf("%s left alone: the CRD has no field spec.authoritativeAPI.", amount.Of(s.leftAlone, "MachineHealthCheck"))))
	}
}

// unread prints what the user may not read. It comes last, because users who have rights only in the two namespaces get it in each answer.
func (w glance) unread(s survey) {
	if s.GateUnknown != "" {
		w.Linef("\n%s", w.Dim(printers.Wrap(s.GateUnknown, "", w.Width)))
	}
}

// repaint overwrites what was shown before, within the terminal's height.
func (w glance) repaint(s survey) {
	on := func(paper printers.Output) glance {
		return glance{Output: paper, OutputFlags: w.OutputFlags, now: w.now}
	}
	w.Repaint(func(paper printers.Output) { on(paper).write(s) }, func(paper printers.Output, height int) { on(paper).writeWithin(s, height) })
}

// writeWithin writes at most height lines. It leaves out the sentences about objects. If not all objects fit, it also leaves out those that are in order.
func (w glance) writeWithin(s survey, height int) {
	first := 0
	for _, text := range s.first() {
		lines := printers.Wrap(text, "", w.Width)
		first += 1 + strings.Count(lines, "\n")
		w.Linef("%s", w.Red(lines))
	}
	const headings, more, counts = 1, 1, 1
	shown, left := Fit(s.Objects, height-headings-more-counts-len(s.Progress)-first)
	w.rows(shown)
	if left > 0 {
		w.Linef("%s", w.Dim(fmt.Sprintf("and %d more", left)))
	}
	w.counts(s.Objects)
	for _, p := range s.Progress {
		w.Linef("%s", w.bar(p))
	}
}

// others prints who else writes to the objects.
func (w glance) others(s survey) {
	var names []string
	for _, who := range slices.Sorted(maps.Keys(s.Neighbours)) {
		names = append(names, fmt.Sprintf("%s (%d)", who, s.Neighbours[who]))
	}
	if len(names) > 0 {
		w.Linef("\n%s", w.Dim(printers.Wrap("Other writers of these objects: "+strings.Join(names, ", ")+". What a move changes for them: kubectl poundlock check",
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
			rows = append(rows, []string{
				s.Ref(), printers.Dash(string(s.Requested)), printers.Dash(string(s.Current)), w.truth(s.Synchronized),
				printers.Dash(string(s.Paused.MachineAPI)), printers.Dash(string(s.Paused.ClusterAPI)), printers.Dash(string(s.Paused.Infrastructure)),
				w.since(s), w.waits(s), s.Namespace,
			})
			continue
		}
		rows = append(rows, []string{s.Ref(), w.authority(s), w.truth(s.Synchronized), yesNo(s.Paused.MachineAPI) + "/" +
			yesNo(s.Paused.ClusterAPI), w.since(s), w.waits(s)})
	}
	w.TableWithText(w.Headless(rows))
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
	case s.Current == authority.Migrating && s.Origin == s.Requested:
		return w.Yellow("back to " + s.Origin.Text())
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
	switch {
	case s.MirrorDeleting:
		reason = strings.TrimSpace(reason + " (mirror being deleted)")
	case s.Deleting:
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

// bar returns a line with the share of the objects that have arrived.
func (w glance) bar(p Progress) string {
	done := barWidth * p.There / p.All
	return fmt.Sprintf("%s %s %d of %d done, %d on the way", p.To.Text(), "["+w.Green(strings.Repeat("#", done))+strings.Repeat(".", barWidth-done)+"]",
		p.There, p.All, p.Moving)
}

// messages prints, in sentences, what the objects wait for, each sentence once.
func (w glance) messages(all []standing.Standing) {
	const most = 10
	shown := 0
	var waiting []standing.Standing
	fields := map[authority.API]bool{}
	for _, s := range all {
		switch {
		case s.Reason == readiness.ReasonFields:
			fields[s.Current] = true
		case s.Message != "":
			waiting = append(waiting, s)
		}
	}
	for i, m := range Messages(waiting) {
		if i < most {
			w.Linef("\n%s  %s", w.Bold(inventory.Names(m.Objects)), w.Dim(m.Reason))
			w.Linef("%s", printers.Wrap(m.Text, "    ", w.Width))
			shown += len(m.Objects)
		}
	}
	if more := len(waiting) - shown; more > 0 {
		w.Linef("\n%d more objects wait: -o json shows every message", more)
	}
	back := fields[authority.ClusterAPI]
	if delete(fields, authority.ClusterAPI); len(fields) > 0 {
		w.Linef("\n%s: kubectl poundlock check lists each field and why.", readiness.ReasonFields)
	}
	if back {
		w.Linef("\n%s, with Cluster API authoritative: kubectl poundlock check --to machineapi lists each field and why.", readiness.ReasonFields)
	}
}
