// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// foresight writes a plan for a person.
type foresight struct {
	printers.Output
	wide bool
}

func (w foresight) write(r Report) {
	if r.Away != "" {
		w.Linef("%s\n", w.Red(printers.Wrap(r.Away, "", w.Width)))
	}
	w.head(r)
	w.Linef("")
	w.indexes(r)
	w.differences(r)
	w.steps(r)
	w.problems(r.Problems)
	if r.Admission != nil {
		w.admission(*r.Admission)
	}
}

func (w foresight) head(r Report) {
	from := ""
	if r.Source != "cluster" {
		from = ", as " + r.Source + " has it"
	}
	parts := []string{r.State, r.Strategy, printers.Dash(r.Platform), amount.Of(r.Replicas, "replica")}
	w.Linef("%s: %s%s", w.Bold("controlplanemachineset/"+r.Name), strings.Join(parts, ", "), from)
}

func (w foresight) indexes(r Report) {
	rows := [][]string{{"INDEX", "FAILURE DOMAIN", "MACHINE", "READY", "OWNED", "WHAT HAPPENS TO IT"}}
	if w.wide {
		rows[0] = append(rows[0], "PHASE", "NODE", "AUTHORITY")
	}
	for _, i := range r.Indexes {
		for _, m := range i.Machines {
			row := []string{fmt.Sprint(i.Index), printers.Dash(i.FailureDomain), m.Name, w.yes(m.Ready), w.yes(m.Adopted), w.outcome(r, m)}
			if w.wide {
				row = append(row, printers.Dash(m.Phase), printers.Dash(m.Node), printers.Dash(m.AuthoritativeAPI))
			}
			rows = append(rows, row)
		}
		if len(i.Machines) == 0 {
			rows = append(rows, []string{fmt.Sprint(i.Index), printers.Dash(i.FailureDomain), "-", "-", "-", w.Yellow("no Machine yet: created")})
		}
	}
	w.TableWithText(rows)
}

func (w foresight) yes(is bool) string {
	if is {
		return w.Green("yes")
	}
	return w.Yellow("no")
}

// outcome describes what happens to a Machine, in a few words.
func (w foresight) outcome(r Report, m Machine) string {
	switch {
	case m.Deleting:
		return w.Yellow("is being deleted")
	case r.Deleting:
		return "stays"
	case len(r.Invalid) > 0:
		return "nothing: the set is invalid"
	case m.Updated && slices.ContainsFunc(r.Steps, func(s ForecastStep) bool { return s.Verb == string(controlplane.Delete) && s.Machine == m.Name }):
		return w.Yellow("is deleted: see the steps")
	case !m.Updated && r.byPerson():
		return w.Yellow("is outdated: replaced once a person deletes it")
	case !m.Updated:
		return w.Yellow("is outdated: replaced")
	case m.Failed:
		return w.Red("has failed")
	case len(m.In(controlplane.InPlace)) > 0:
		return "stays, changed in place"
	}
	return "stays"
}

// byPerson reports whether the set replaces only Machines that a person deletes.
func (r Report) byPerson() bool { return r.Strategy == string(machinev1.OnDelete) }

// effects describes, for a person, what is done because of a difference.
var effects = map[string]string{string(controlplane.Rollout): "Machine is replaced", string(controlplane.InPlace): "changed in place",
	string(controlplane.Ignored): "nothing: only new Machines get it"}

func (w foresight) differences(r Report) {
	rows := [][]string{{"MACHINE", "FIELD", "HAS", "SHOULD HAVE", "WHAT IS DONE"}}
	for _, i := range r.Indexes {
		for _, m := range i.Machines {
			for _, d := range m.Differences {
				done := effects[d.Effect]
				if r.byPerson() && d.Effect == string(controlplane.Rollout) {
					done += " once a person deletes it"
				}
				rows = append(rows, []string{m.Name, w.field(d.Path), d.Have, d.Want, done})
			}
		}
	}
	if len(rows) > 1 {
		w.Linef("")
		w.Table(rows)
	}
}

// field returns a field's path without the beginning that all fields of a providerSpec share.
func (w foresight) field(path string) string {
	if short, ok := strings.CutPrefix(path, "spec.providerSpec.value."); ok && !w.wide {
		return short
	}
	return path
}

func (w foresight) steps(r Report) {
	if len(r.Problems) > 0 {
		return
	}
	w.Linef("")
	if len(r.Steps) == 0 {
		for _, f := range r.Forecast {
			w.Linef("%s", printers.Wrap(sentence(f), "", w.Width))
		}
		return
	}
	if r.State == "Active" {
		w.Linef("The set's steps, in this order:")
	} else {
		w.Linef("The set is Inactive, and does nothing. If it were Active, it would take these steps, in this order:")
	}
	for i, s := range r.Steps {
		w.hang(fmt.Sprintf("%3d. ", i+1), w.when(s)+w.action(s)+" "+w.Dim(s.Why))
	}
}

// hang writes a text with a mark before its first line, and indents the other lines.
func (w foresight) hang(mark, text string) {
	lines := printers.Wrap(text, strings.Repeat(" ", len(mark)), w.Width)
	w.Linef("%s%s", mark, strings.TrimLeft(lines, " "))
}

func (w foresight) when(s ForecastStep) string {
	if s.Now {
		return w.Bold("now: ")
	}
	return "then: "
}

func (w foresight) action(s ForecastStep) string {
	at := ""
	if s.Index != nil {
		at = fmt.Sprintf(" at index %d", *s.Index)
	}
	at += controlplane.InDomain(s.FailureDomain)
	switch s.Verb {
	case string(controlplane.Adopt):
		return "adopt " + s.Machine + "."
	case string(controlplane.Amend):
		return "change " + s.Machine + "."
	case string(controlplane.Create):
		return w.Green("create "+s.Machine) + at + "."
	case string(controlplane.Delete):
		return w.Red("delete "+s.Machine) + at + "."
	}
	return "wait:"
}

func (w foresight) problems(all []Problem) {
	if len(all) == 0 {
		return
	}
	w.Linef("\n%s", w.Red("The set can do nothing until this is fixed:"))
	for _, p := range all {
		w.Linef("\n  %s", w.Bold(p.Reason))
		w.Linef("%s", printers.Wrap(p.Message+".", "    ", w.Width))
	}
}

func (w foresight) admission(a Admission) {
	allows, refuses := "The webhook's rules, evaluated by this command, allow the set", "The webhook's rules, evaluated by this command, refuse the set"
	if a.By == ByServer {
		allows, refuses = "The API server, in a dry run, allows the set", "The API server, in a dry run, refuses the set"
	}
	if a.Allowed {
		w.Linef("\n%s.", w.Green(allows))
	} else {
		w.Linef("\n%s:", w.Red(refuses))
	}
	for _, o := range a.Refusals {
		w.opinion(w.Red("refused: "), o)
	}
	for _, o := range a.Warnings {
		if !forecasts(o) { // the forecast is already printed, in more detail
			w.opinion(w.Yellow("warning: "), o)
		}
	}
}

func forecasts(o Opinion) bool {
	return o.Rule == Forecasts || strings.HasSuffix(o.Message, "["+Forecasts+"]")
}

func (w foresight) opinion(mark string, o Opinion) {
	text := o.Message
	if o.Path != "" {
		text = o.Path + ": " + text
	}
	if o.Rule != "" {
		text += " [" + o.Rule + "]"
	}
	w.Linef("%s", printers.Wrap(mark+text, "  ", w.Width))
}

// sentence returns the text with a capital letter and a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
