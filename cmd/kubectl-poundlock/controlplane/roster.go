// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// roster writes a set's status for a person.
type roster struct {
	printers.Output
	wide bool
	now  time.Time
}

func (w roster) write(s Standing) {
	w.top(s)
	if len(s.Conditions)+len(s.ClusterOperator) > 0 {
		w.Linef("")
		w.conditions(s)
	}
	w.bottom(s)
}

// top writes what a reader looks for first: the set and its Machines.
func (w roster) top(s Standing) {
	if s.Away != "" {
		w.Linef("%s\n", w.Red(printers.Wrap(s.Away, "", w.Width)))
	}
	w.set(s)
	w.Linef("")
	w.indexes(s)
}

// bottom writes what a person has to know or do.
func (w roster) bottom(s Standing) {
	w.remarks(s)
	for _, text := range s.Unread {
		w.remark("Not shown, because it could not be read: " + text)
	}
	foresight{w.Output, w.wide}.problems(s.Problems)
	if len(s.WaitsFor) > 0 {
		w.Linef("\nWhat the set waits for:")
		for _, text := range s.WaitsFor {
			foresight{w.Output, w.wide}.hang("  - ", text)
		}
	}
}

// repaint overwrites what was shown before, within the terminal's height. If not everything fits, the conditions come last, because what the set waits for
// matters more.
func (w roster) repaint(s Standing) {
	on := func(paper printers.Output) roster { return roster{paper, w.wide, w.now} }
	w.Repaint(func(paper printers.Output) { on(paper).write(s) }, func(paper printers.Output, height int) {
		text, all := &bytes.Buffer{}, paper
		all.Writer = text
		on(all).top(s)
		on(all).bottom(s)
		on(all).Linef("")
		on(all).conditions(s)
		paper.Head(text.String(), height)
	})
}

func (w roster) set(s Standing) {
	state := w.Green(s.State)
	if s.State != "Active" {
		state = w.Yellow(s.State)
	}
	if s.Deleting {
		state += w.Yellow(" (being deleted)")
	}
	n := s.Numbers
	w.Tables([][]string{
		{"SET", "STATE", "STRATEGY", "AUTHORITY"},
		{"controlplanemachineset/" + s.Name, state, s.Strategy, w.authority(s)},
	}, [][]string{
		{"REPLICAS", "MACHINES", "READY", "UPDATED", "UNAVAILABLE"},
		{fmt.Sprint(s.Replicas), fmt.Sprint(n.Replicas), fmt.Sprint(n.Ready), fmt.Sprint(n.Updated), fmt.Sprint(n.Unavailable)},
	})
}

func (w roster) authority(s Standing) string {
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

func (w roster) indexes(s Standing) {
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
			rows = append(rows, []string{fmt.Sprint(i.Index), printers.Dash(i.FailureDomain), "-", w.Yellow("no Machine yet")})
		}
	}
	w.TableWithText(rows)
}

func (w roster) phase(m Machine) string {
	switch {
	case m.Failed:
		return w.Red(m.Phase)
	case m.Deleting && m.Phase != "Deleting":
		return w.Yellow(strings.TrimSpace(m.Phase + " (being deleted)"))
	}
	return m.Phase
}

// differs returns the names of the fields for which a Machine is replaced.
func (w roster) differs(m Machine) string {
	const most = 3
	var out []string
	for _, d := range m.In(controlplane.Rollout) {
		out = append(out, foresight{w.Output, w.wide}.field(d.Path))
	}
	if more := len(out) - most; more > 0 && !w.wide {
		out = append(out[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// wanted has the healthy status of each known condition.
var wanted = map[string]string{
	"Available": "True", "Progressing": "False", "Degraded": "False", "Upgradeable": "True",
	"Error": "False", "Generated": "True", "Synchronized": "True", "AuthoritySettled": "True",
}

// inOrder returns the conditions sorted, because an object has them in the order in which they were written.
func inOrder(all []Condition) []Condition {
	first := []string{"Available", "Progressing", "Degraded", "Upgradeable"}
	place := func(c Condition) int {
		if i := slices.Index(first, c.Type); i >= 0 {
			return i
		}
		return len(first)
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b Condition) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Type, b.Type))
	})
}

func (w roster) conditions(s Standing) {
	rows := [][]string{{"CONDITION", "OF", "STATUS", "REASON", "SINCE"}}
	var first []Condition
	add := func(of string, all []Condition) {
		for _, c := range inOrder(all) {
			rows = append(rows, []string{c.Type, of, w.status(c), printers.Dash(c.Reason), w.since(c)})
			if c.Message != "" && wanted[c.Type] != c.Status &&
				!slices.ContainsFunc(first, func(k Condition) bool { return strings.HasSuffix(c.Message, k.Message) }) {
				first = append(first, c)
			}
		}
	}
	add("the set", s.Conditions)
	add("clusteroperator/"+controlplane.OperatorName, s.ClusterOperator)
	w.Table(rows)
	for _, c := range first {
		w.Linef("\n%s  %s", w.Bold(c.Type+"="+c.Status), w.Dim(c.Reason))
		w.Linef("%s", printers.Wrap(c.Message, "    ", w.Width))
	}
}

func (w roster) status(c Condition) string {
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

func (w roster) since(c Condition) string {
	if c.Since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(c.Age(w.now))
}

// remarks writes what is unusual in the set's status.
func (w roster) remarks(s Standing) {
	switch {
	case s.Unobserved() && s.ObservedGeneration == 0:
		w.remark("No operator has reconciled this set yet. Poundlock's operator runs with `poundlock manager --control-plane`; OpenShift has its own operator.")
	case s.Unobserved():
		w.remark(fmt.Sprintf("The set's operator has not reconciled the last change yet (generation %d, observed %d): the conditions are out of date.",
			s.Generation, s.ObservedGeneration))
	case s.lags:
		w.remark(fmt.Sprintf(
			"The set's status is out of date: it counts %s, %d ready, %d updated, %d unavailable. The set's operator has not caught up yet, or does not run.",
			amount.Of(s.Reported.Replicas, "Machine"), s.Reported.Ready, s.Reported.Updated, s.Reported.Unavailable))
	}
}

func (w roster) remark(text string) { w.Linef("\n%s", printers.Wrap(w.Yellow(text), "", w.Width)) }
