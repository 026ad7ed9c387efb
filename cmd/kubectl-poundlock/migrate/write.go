// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
)

func (m *mover) show(plan []PlannedMove) {
	if len(plan) == 0 {
		return
	}
	rows := [][]string{{"OBJECT", "ROLE", "FROM", "TO", "PLAN", "WHY"}}
	for _, s := range plan {
		rows = append(rows, []string{
			s.Pair.Ref(), printers.Dash(role(s.Pair)), s.Pair.Authoritative().Text(), m.to.Text(), m.action(s), firstReason(s.Finding),
		})
	}
	if !slices.ContainsFunc(plan, func(s PlannedMove) bool { return role(s.Pair) != "" }) {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 1, 2)
		}
	}
	m.TableWithText(rows)
	m.unread(plan)
	m.surroundings(plan)
	for _, s := range plan {
		m.record(event{Object: s.Pair.Ref(), Event: "plan: " + s.Text(), Message: firstReason(s.Finding), Failed: s.Action == Leave})
		if s.Action != Leave {
			continue
		}
		m.Linef("\n%s cannot move:", m.Bold(s.Pair.Ref()))
		for _, field := range s.Finding.Fields {
			m.Linef("%s", printers.Wrap(field.Path+": "+field.Reason, "    ", m.Width))
		}
		if s.Finding.Message != "" {
			m.Linef("%s", printers.Wrap(s.Finding.Message, "    ", m.Width))
		}
	}
}

// surroundings reports each fact about the cluster that decides about the moves of objects, such as a paused Cluster, once. A server reports these facts in its
// warnings to each request, but the warnings are many and come after the question. That Cluster API drains no Node does not prevent a move. That fact is left
// to the server's warnings if a request is sent.
func (m *mover) surroundings(plan []PlannedMove) {
	var findings []readiness.Finding
	for _, s := range plan {
		if (s.Action == Ask || s.Action == Follow) && !s.GoesBack() {
			findings = append(findings, s.Finding)
		}
	}
	texts := readiness.Once(findings, func(f readiness.Finding) string { return f.PausedCluster })
	if m.dryRun == "client" {
		texts = append(texts, readiness.Once(findings, func(f readiness.Finding) string { return f.Undrained })...)
	}
	for _, text := range texts {
		m.record(event{Event: "plan", Message: text})
		m.Linef("\n%s", m.Yellow(printers.Wrap(text, "", m.Width)))
	}
}

// unread reports, once each, facts that the user may not read, although the webhook and the manager judge the moves by them.
func (m *mover) unread(plan []PlannedMove) {
	printed := map[string]bool{}
	for _, s := range plan {
		if text := s.Finding.Message; s.Finding.Reason == readiness.ReasonUnread && s.Action != Leave && !printed[text] {
			printed[text] = true
			m.Linef("\n%s", m.Yellow(printers.Wrap(
				s.Pair.Ref()+": "+text+". Poundlock can read the whole cluster, and decides whether the move starts.", "", m.Width)))
		}
	}
}

func (m *mover) action(s PlannedMove) string {
	switch text := s.Text(); s.Action {
	case Leave:
		return m.Red(text)
	case Skip:
		return m.Dim(text)
	case Follow:
		return m.Yellow(text)
	default:
		return m.Green(text)
	}
}

func firstReason(f readiness.Finding) string {
	switch f.Readiness {
	case readiness.Waiting:
		return readiness.PlanWillWait + ": " + f.Reason
	case readiness.Unknown:
		return "unknown: " + f.Reason
	}
	return f.Reason
}

// event is one line of -o json.
type event struct {
	Time time.Time `json:"time"`
	// Object is the object that is written to, as kubectl names it: machineset.machine.openshift.io/worker-a. It is empty in the last line, which is about all
	// objects.
	Object string `json:"object,omitempty"`
	// Event is what happened, in words.
	Event string `json:"event"`
	// Message has details. After a refusal it is the API server's message.
	Message  string   `json:"message,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Seconds is how long the object has been in progress.
	Seconds float64 `json:"seconds,omitempty"`
	// Arrived is how many of Total objects have arrived. LeftSeconds is an estimate of the remaining time.
	Arrived     int     `json:"arrived,omitempty"`
	Total       int     `json:"total,omitempty"`
	LeftSeconds float64 `json:"leftSeconds,omitempty"`
	Failed      bool    `json:"failed,omitempty"`
}

// record writes an event as a line for programs.
func (m *mover) record(e event) {
	if m.format != "json" {
		return
	}
	e.Time = m.Now().UTC()
	if kind, name, ok := strings.Cut(e.Object, "/"); ok {
		e.Object = inventory.ObjectOf(kind, machinev1beta1.GroupName, name)
	}
	if err := m.Stream("MigrationEvent", e); err != nil {
		fmt.Fprintln(m.ErrOut, "writing:", err)
	}
}

// report prints the result of a request: the webhook's warnings, or the refusal.
func (m *mover) report(ref, what string, err error) {
	e := event{Object: ref, Event: what, Warnings: printers.Whole(m.warned)}
	if err != nil {
		e.Event, e.Message, e.Failed = "refused", err.Error(), true
	}
	m.record(e)
	if err != nil {
		m.Linef("%s  %s  %s", m.clock(), ref, m.Red("refused: "+err.Error()))
	} else {
		m.Linef("%s  %s  %s", m.clock(), ref, what)
	}
	for _, text := range e.Warnings {
		m.Linef("%s", printers.Wrap(m.Yellow("warning:")+" "+text, "            ", m.Width))
	}
}

func (m *mover) clock() string { return m.Dim(m.Now().Format(time.TimeOnly)) }

func (m *mover) line(l Line) {
	what := l.What
	switch {
	case l.Good:
		what = m.Green(what)
	case l.Bad:
		what = m.Red(what)
	}
	m.record(event{
		Object: l.Ref, Event: l.What, Message: l.Detail, Seconds: l.After.Seconds(),
		Arrived: l.Arrived, Total: l.Total, LeftSeconds: l.Left.Seconds(), Failed: l.Bad,
	})
	m.Linef("%s  %s  %s  %s", m.clock(), l.Ref, what, m.Dim("after "+duration.HumanDuration(l.After)+counter(l)))
	if l.Detail != "" {
		m.Linef("%s", printers.Wrap(l.Detail, "            ", m.Width))
	}
}

// counter returns the progress of a move of several objects in words.
func counter(l Line) string {
	switch {
	case l.Total < 2:
		return ""
	case l.Left == 0:
		return fmt.Sprintf(", %d of %d", l.Arrived, l.Total)
	}
	return fmt.Sprintf(", %d of %d, about %s left", l.Arrived, l.Total, duration.HumanDuration(l.Left))
}
