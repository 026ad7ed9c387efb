// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/internal/amount"
)

// waits returns a clause that says what an active set without problems is waiting for; "" if it waits for nothing.
func (p *Plan) waits() string {
	if !p.Active || len(p.Problems) > 0 {
		return ""
	}
	_, ok, held := p.changing()
	if ok {
		return ""
	}
	if moves := p.moves(); moves != "" {
		return moves
	}
	switch busy := p.busy(); {
	case held != "":
		return held
	case busy != "":
		return busy
	case p.Strategy == machinev1.Recreate && len(p.Outdated()) > 0:
		return p.lost() + " is not ready: until it is, the strategy Recreate deletes no other Machine"
	case p.Strategy == machinev1.OnDelete:
		return p.person()
	}
	return ""
}

// person returns what a set with the strategy OnDelete waits for: that somebody deletes the outdated Machines, and the Machines whose replacement exists.
func (p *Plan) person() string {
	var out []string
	if all := p.beside(); all != "" {
		out = append(out, "a person to delete Machines that are no longer needed: "+all)
	}
	if all := p.alone(); len(all) > 0 {
		out = append(out, "a person to delete outdated Machines: "+p.listOutdated(all))
	}
	return strings.Join(out, "; ")
}

// beside lists the Machines that OnDelete leaves beside their replacements, each with the reason why it is not needed.
func (p *Plan) beside() string {
	var out []string
	for _, s := range p.undeleted() {
		one := fmt.Sprintf("%s (%s)", s.Machine.Name, s.Reason())
		if short := p.short(s); short != "" {
			one += ", but not before " + strings.Replace(short, " to be ready:", " are ready:", 1)
		}
		out = append(out, one)
	}
	return strings.Join(out, ", ")
}

// alone returns the outdated indexes that beside does not list, because they have no replacement yet.
func (p *Plan) alone() []Index {
	left := p.undeleted()
	return slices.DeleteFunc(p.Outdated(), func(i Index) bool {
		return slices.ContainsFunc(left, func(s PlannedStep) bool { return s.Index.Number == i.Number })
	})
}

// Reason returns why a step is taken, as a part of a sentence.
func (s PlannedStep) Reason() string {
	why := strings.TrimSuffix(s.Why, ".")
	for _, begins := range []string{"It", "Index"} {
		if strings.HasPrefix(why, begins) {
			why = strings.ToLower(why[:1]) + why[1:]
		}
	}
	return why
}

// Forecast returns what the set will do from the present state on, in sentences for the person who writes the set. First come the Machines that it creates,
// deletes and replaces, in order and to the end; then everything else. The operator will do this. For an inactive set, Forecast returns what its activation
// would lead to.
func (p *Plan) Forecast() []string {
	future := Ahead(p.view)
	out := p.changes(future.Moments)
	if len(p.Problems) > 0 {
		why := p.problems()
		if len(out) == 0 {
			return []string{p.will() + " nothing until this problem is fixed: " + why}
		}
		return append([]string{p.doing("wait") + " until the change that is under way is complete: " + why}, out...) // the problem ends with that step
	}
	out = append(out, p.leavesOff(&future.Last)...)
	for _, list := range []func() string{p.amends, p.ignores} {
		if s := list(); s != "" {
			out = append(out, s)
		}
	}
	if out == nil {
		return []string{fmt.Sprintf("%s nothing: all %d control plane Machines match the template", p.will(), len(p.Machines()))}
	}
	return out
}

// problems joins the problems in one text, the most severe first.
func (p *Plan) problems() string {
	var out []string
	for _, problem := range p.Problems {
		out = append(out, problem.Message)
	}
	return strings.Join(out, "; ")
}

func (p *Plan) will() string {
	if p.Active {
		return "this will do"
	}
	return "the set is Inactive. If it were Active, it would do"
}

// doing returns the words of the function will, with the given verb in place of "do".
func (p *Plan) doing(verb string) string { return strings.TrimSuffix(p.will(), "do") + verb }

// deed is one entry of a forecast: a Machine that is created, deleted or replaced. A replacement is a creation and a deletion in one entry.
type deed struct {
	verb Verb // "" for a replacement
	text string
}

// changes returns sentences about the created, deleted and replaced Machines, in the order of the moments. Consecutive entries of one kind share a sentence. If
// a Machine is created for another Machine, or in the place of one that was deleted for it, both moments together are one replacement.
func (p *Plan) changes(all []Moment) []string {
	var deeds []deed
	partner := map[int]bool{}
	for n, m := range all {
		switch {
		case partner[n] || m.Waits != "":
		case m.Cause == Outdated:
			old, with := replacement(all, n)
			partner[with] = true
			deeds = append(deeds, deed{"", fmt.Sprintf("%s (%s)", old.Name, ListDifferences(old.In(Rollout)))})
		case m.Verb == Create:
			deeds = append(deeds, deed{Create, fmt.Sprintf("at index %d%s", m.Index.Number, m.Index.where())})
		case m.Verb == Delete:
			deeds = append(deeds, deed{Delete, fmt.Sprintf("%s (%s)", m.Name, m.Reason())})
		}
	}
	var out []string
	for len(deeds) > 0 {
		n := 1
		for n < len(deeds) && deeds[n].verb == deeds[0].verb {
			n++
		}
		out = append(out, p.sentenceOf(deeds[0].verb, n)+": "+strings.Join(texts(deeds[:n]), ", "))
		deeds = deeds[n:]
	}
	return out
}

func texts(all []deed) []string {
	var out []string
	for _, d := range all {
		out = append(out, d.text)
	}
	return out
}

// replacement returns the outdated Machine that moment n begins to replace, and the number of the moment that completes the replacement; -1 if no moment does.
func replacement(all []Moment, n int) (MachineState, int) {
	at := all[n].Index
	for later := n + 1; later < len(all); later++ {
		m := all[later]
		if m.Waits == "" && m.Index.Number == at.Number && (m.Verb == Create || m.Verb == Delete) && m.Verb != all[n].Verb {
			if m.Verb == Delete {
				return m.Machine, later
			}
			return all[n].Machine, later
		}
	}
	return at.outdated(), -1
}

func (p *Plan) sentenceOf(verb Verb, n int) string {
	many := fmt.Sprintf("%d of %d control plane Machines", n, p.Replicas)
	switch {
	case verb == Create:
		return fmt.Sprintf("%s %s", p.doing("create"), amount.Of(n, "control plane Machine"))
	case verb == Delete:
		place := "its place"
		if n > 1 {
			place = "their place"
		}
		return fmt.Sprintf("%s %d of %d control plane Machines, and create none in %s", p.doing("delete"), n, len(p.Machines()), place)
	case p.Strategy == machinev1.Recreate:
		return fmt.Sprintf("%s %s, one at a time, and delete each before its replacement is created (strategy Recreate: until the replacement joins, etcd has "+
			"one member fewer)",
			p.doing("replace"), many)
	}
	return fmt.Sprintf("%s %s, one at a time", p.doing("replace"), many)
}

// leavesOff returns what is left to a person, or what the set waits for, when nothing more happens by itself. The plan "last" is the plan at that time.
func (p *Plan) leavesOff(last *Plan) []string {
	if len(last.Problems) > 0 {
		return []string{fmt.Sprintf("%s after that, until you fix this problem: %s", p.doing("stop"), last.problems())}
	}
	if p.Strategy != machinev1.OnDelete {
		if last.Waits != "" && len(last.Outdated()) > 0 {
			return []string{fmt.Sprintf("%s for a person: %s", p.doing("wait"), last.Waits)}
		}
		return nil
	}
	var out []string
	if all := last.alone(); len(all) > 0 {
		are := "are outdated, and each is replaced"
		if len(all) == 1 {
			are = "is outdated, and is replaced"
		}
		out = append(out, fmt.Sprintf(
			"%s no Machine by itself (strategy OnDelete): %d of %d control plane Machines %s once you delete it: %s",
			p.doing("replace"), len(all), p.Replicas, are, p.listOutdated(all)))
	}
	if all := last.beside(); all != "" {
		out = append(out, fmt.Sprintf("%s no Machine by itself (strategy OnDelete); delete the Machines that are no longer needed: %s", p.doing("delete"), all))
	}
	return out
}

// listOutdated lists the outdated Machines and their differences.
func (p *Plan) listOutdated(all []Index) string {
	var out []string
	for _, i := range all {
		m := i.outdated()
		out = append(out, fmt.Sprintf("%s (%s)", m.Name, ListDifferences(m.In(Rollout))))
	}
	return strings.Join(out, ", ")
}

// where returns the index's failure domain as the continuation of a sentence.
func (i Index) where() string {
	if i.Domain == nil {
		return ""
	}
	return InDomain(i.Domain.Name)
}

// InDomain returns a failure domain as the continuation of a sentence. On some clouds a zone is a bare number, which would read as a count. So such a number is
// preceded by the word zone.
func InDomain(name string) string {
	switch {
	case name == "":
		return ""
	case strings.Trim(name, "0123456789") == "":
		return " in zone " + name
	}
	return " in " + name
}

func (p *Plan) amends() string {
	if all := p.sum(InPlace); all != "" {
		return p.doing("change in place") + " " + all
	}
	return ""
}

func (p *Plan) ignores() string {
	if all := p.sum(Ignored); all != "" {
		return p.doing("leave as it is") + " " + all + "; new Machines are created from the template"
	}
	return ""
}

// sum lists the differences that have an effect e, each once, with the names of the Machines that have it.
func (p *Plan) sum(e Effect) string {
	var order []string
	on := map[string][]string{}
	for _, m := range p.Machines() {
		if m.Deleting || !m.Updated() {
			continue // the Machine will be gone, and its replacement has no differences
		}
		for _, d := range m.In(e) {
			if on[d.String()] == nil {
				order = append(order, d.String())
			}
			on[d.String()] = append(on[d.String()], m.Name)
		}
	}
	var out []string
	for _, d := range order {
		out = append(out, fmt.Sprintf("%s (%s)", d, strings.Join(on[d], ", ")))
	}
	return strings.Join(out, ", ")
}
