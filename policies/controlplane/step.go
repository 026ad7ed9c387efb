// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// Verb is what a step does.
type Verb string

// The verbs.
const (
	// Adopt makes the set the Machine's controller.
	Adopt Verb = "Adopt"
	// Amend patches onto the Machine what differs in place.
	Amend Verb = "Amend"
	// Create makes a Machine at the index.
	Create Verb = "Create"
	// Delete deletes the Machine. Its hooks hold it for as long as etcd needs it.
	Delete Verb = "Delete"
)

// PlannedStep is one thing to do.
type PlannedStep struct {
	Verb  Verb
	Index Index
	// Machine is the one that is adopted, amended or deleted.
	Machine MachineState
	// Why is the reason, in a sentence for an event.
	Why string
	// Cause is a word for why a Machine is made or deleted.
	Cause Cause
}

// Cause is why a Machine is made or deleted.
type Cause string

// The causes.
const (
	Surplus    Cause = "Surplus"
	Replaced   Cause = "Replaced"
	Superseded Cause = "Superseded"
	Vacant     Cause = "Vacant"
	Leaving    Cause = "Leaving"
	Outdated   Cause = "Outdated"
)

// surge is how many Machines there may be beyond the replicas (control-plane-machine-set-controller › The RollingUpdate update strategy).
const surge = 1

// Steps are what is to be done now. All may be done in one pass; at most one of them makes or deletes a Machine, and the one after that follows
// from what has then become of it. An inactive set does nothing, and neither does one with problems.
func (p *Plan) Steps() []PlannedStep {
	if !p.Active || len(p.Problems) > 0 || p.authority == authority.Migrating {
		return nil
	}
	var out []PlannedStep
	for _, i := range p.Indexes {
		for _, m := range i.Machines {
			if m.moving() {
				continue
			}
			if !m.Deleting && !m.Adopted {
				out = append(out, PlannedStep{Verb: Adopt, Index: i, Machine: m, Why: "It belongs to the control plane that the set manages."})
			}
			if all := m.In(InPlace); !m.Deleting && len(all) > 0 {
				out = append(out, PlannedStep{Verb: Amend, Index: i, Machine: m, Why: "It differs in what can be changed in place: " + ListDifferences(all) + "."})
			}
		}
	}
	if s, ok := p.change(); ok {
		out = append(out, s)
	}
	return out
}

// change is the one Machine that is made or deleted next.
func (p *Plan) change() (PlannedStep, bool) {
	s, ok, _ := p.changing()
	return s, ok
}

// changing is change, and the deletion that comes before it but waits, in a sentence.
func (p *Plan) changing() (_ PlannedStep, ok bool, held string) {
	if p.standsStill() != "" {
		return PlannedStep{}, false, ""
	}
	moves := p.machineMoves() != ""
	for _, row := range []struct {
		cause Cause
		find  func() (PlannedStep, bool)
	}{
		{Surplus, p.unasked(surplus)}, {Replaced, p.unasked(replaced)}, {Superseded, p.unasked(superseded)},
		{Vacant, p.vacant}, {Leaving, p.leaving}, {Outdated, p.renew},
	} {
		if moves && row.cause != Vacant && row.cause != Leaving {
			continue // a Machine that moves may wait for a person, and what is gone is not to wait for that
		}
		s, ok := row.find()
		if !ok {
			continue
		}
		if short := p.short(s); short != "" {
			held = cmp.Or(held, short)
			continue
		}
		s.Cause = row.cause
		return s, true, held
	}
	return PlannedStep{}, false, held
}

// short returns what a deletion waits for because too few indexes would have a Node that is ready, "" for nothing: etcd's hook may be missing on a Machine that
// has just joined. What is not ready itself adds nothing.
func (p *Plan) short(s PlannedStep) string {
	if s.Verb != Delete || !s.Machine.serves {
		return ""
	}
	left, quorum := 0, p.Replicas/2+1
	for _, i := range p.Indexes {
		if slices.ContainsFunc(i.Machines, func(m MachineState) bool { return m.serves && m.Name != s.Machine.Name }) {
			left++
		}
	}
	if left >= quorum {
		return ""
	}
	return fmt.Sprintf("the Nodes of other control plane Machines to be ready: without %s, %d of %d indexes has one, and etcd needs %d",
		s.Machine.Name, left, len(p.Indexes), quorum)
}

// room reports whether one Machine more may exist. It counts those that are being deleted.
func (p *Plan) room() bool { return len(p.Machines()) < p.Replicas+surge }

// surplus returns the step that deletes one of two updated Machines of an index. Two passes may have created one each, or somebody else did.
func surplus(i Index) (PlannedStep, bool) {
	var good []MachineState
	for _, m := range i.Machines {
		if m.Updated() && !m.Deleting {
			good = append(good, m)
		}
	}
	if len(good) < 2 || !anyReady(good) && !allOf(good, MachineState.joining) {
		return PlannedStep{}, false // one that has lost its Node and one that is to replace it: whichever gets ready stays
	}
	slices.SortStableFunc(good, func(a, b MachineState) int {
		return cmp.Or(compareBool(!a.Ready, !b.Ready), a.born.Compare(b.born))
	})
	return PlannedStep{Verb: Delete, Index: i, Machine: good[len(good)-1], Why: fmt.Sprintf("Index %d has %s already.", i.Number, good[0].Name)}, true
}

func allOf(all []MachineState, is func(MachineState) bool) bool {
	return !slices.ContainsFunc(all, func(m MachineState) bool { return !is(m) })
}

// unasked is the deletion at the first index that calls for it. OnDelete leaves every one to a person.
func (p *Plan) unasked(find func(Index) (PlannedStep, bool)) func() (PlannedStep, bool) {
	return func() (PlannedStep, bool) {
		if p.Strategy == machinev1.OnDelete {
			return PlannedStep{}, false
		}
		for _, i := range p.Indexes {
			if s, ok := find(i); ok {
				return s, true
			}
		}
		return PlannedStep{}, false
	}
}

// undeleted are the deletions that OnDelete leaves to a person: of each index the Machine that is no longer needed beside another.
func (p *Plan) undeleted() []PlannedStep {
	if p.Strategy != machinev1.OnDelete {
		return nil
	}
	var out []PlannedStep
	for _, i := range p.Indexes {
		for _, find := range []func(Index) (PlannedStep, bool){surplus, replaced, superseded} {
			if s, ok := find(i); ok {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// replaced is an outdated Machine whose replacement is ready.
func replaced(i Index) (PlannedStep, bool) {
	at := slices.IndexFunc(i.Machines, func(m MachineState) bool { return m.Updated() && m.Ready })
	old := slices.IndexFunc(i.Machines, func(m MachineState) bool { return !m.Updated() && !m.Deleting })
	if at < 0 || old < 0 {
		return PlannedStep{}, false
	}
	return PlannedStep{Verb: Delete, Index: i, Machine: i.Machines[old], Why: "Its replacement " + i.Machines[at].Name + " is ready."}, true
}

// superseded is one of two Machines of an index. Neither is both ready and equal to the template, since the template has changed once more while
// one was being replaced: it gives way before another one is made, or there would be more Machines at the index with each change.
func superseded(i Index) (PlannedStep, bool) {
	staying := slices.DeleteFunc(slices.Clone(i.Machines), func(m MachineState) bool { return m.Deleting })
	slices.SortStableFunc(staying, func(a, b MachineState) int {
		return cmp.Or(compareBool(!a.Ready, !b.Ready), a.born.Compare(b.born))
	})
	if len(staying) < 2 {
		return PlannedStep{}, false
	}
	stays, goes := staying[0], staying[len(staying)-1]
	if !slices.ContainsFunc(staying, MachineState.Updated) {
		return PlannedStep{Verb: Delete, Index: i, Machine: goes, Why: fmt.Sprintf("It is outdated (%s), and so is %s, beside which it is not needed.",
			ListDifferences(goes.In(Rollout)), stays.Name)}, true
	}
	if goes.Updated() && goes.lost() && !goes.joining() && stays.Ready && !stays.Updated() && goes.born.Before(stays.born) {
		return PlannedStep{Verb: Delete, Index: i, Machine: goes, Why: fmt.Sprintf("%s was made in its place, and is ready, which it is not.", stays.Name)}, true
	}
	return PlannedStep{}, false
}

// vacant is an index without a Machine. A Node whose Machine may only have lost a label may be the index's.
func (p *Plan) vacant() (PlannedStep, bool) {
	for _, i := range p.Indexes {
		if len(i.Machines) == 0 && p.room() && p.left() == "" {
			return PlannedStep{Verb: Create, Index: i, Why: fmt.Sprintf("Index %d has no Machine.", i.Number)}, true
		}
	}
	return PlannedStep{}, false
}

// leaving is an index whose Machines are all being deleted. Where there is no room for one more, the Machine has to be gone first.
func (p *Plan) leaving() (PlannedStep, bool) {
	if p.Strategy == machinev1.Recreate || !p.room() {
		return PlannedStep{}, false
	}
	for _, i := range p.Indexes {
		if len(i.Machines) > 0 && !slices.ContainsFunc(i.Machines, func(m MachineState) bool { return !m.Deleting }) {
			return PlannedStep{Verb: Create, Index: i, Why: i.Machines[0].Name + " is being deleted."}, true
		}
	}
	return PlannedStep{}, false
}

// renew begins to replace the next outdated Machine: those that are lost first, since there is least to lose, then index by index. Nothing is
// begun while a Machine is on its way in or out.
func (p *Plan) renew() (PlannedStep, bool) {
	next := p.Outdated()
	if len(next) == 0 || p.Strategy == machinev1.OnDelete || p.busy() != "" {
		return PlannedStep{}, false
	}
	i := next[0]
	old := i.outdated()
	if p.Strategy == machinev1.Recreate {
		if !old.lost() && p.lost() != "" {
			return PlannedStep{}, false
		}
		return PlannedStep{Verb: Delete, Index: i, Machine: old, Why: "It is outdated, and its replacement has no room beside it: " +
			ListDifferences(old.In(Rollout)) + "."}, true
	}
	if !p.room() {
		return PlannedStep{}, false
	}
	return PlannedStep{Verb: Create, Index: i, Why: old.Name + " is outdated: " + ListDifferences(old.In(Rollout)) + "."}, true
}

// busy returns which Machine is on its way in or out, "" if none is.
func (p *Plan) busy() string {
	for _, i := range p.Indexes {
		for _, m := range i.Machines {
			switch {
			case m.Deleting:
				return m.Name + " is being deleted" + p.held(m)
			case m.Failed && m.Updated() && m.joining():
				return m.Name + " has failed before it had a Node: fix what its status.errorMessage names, then delete it"
			case m.Updated() && !m.Ready && (m.joining() || len(i.Machines) > 1):
				return m.Name + " is not ready yet" + m.unmade()
			}
		}
		if left := p.left(); len(i.Machines) == 0 && left != "" {
			return fmt.Sprintf("index %d has no Machine, but %s", i.Number, left)
		}
		if len(i.Machines) == 0 {
			return fmt.Sprintf("index %d has no Machine", i.Number)
		}
	}
	return ""
}

// unmade returns why Cluster API makes no instance of a Machine, "" where nothing is found to keep it from that.
func (m MachineState) unmade() string {
	if !m.joining() || m.machine.Status.AuthoritativeAPI != machinev1beta1.MachineAuthorityClusterAPI {
		return ""
	}
	for _, c := range m.machine.Status.Conditions {
		if c.Type == authority.ConditionSynchronized && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf(": its Synchronized is False, and Cluster API makes no instance of it (%s: %s)", c.Reason, c.Message)
		}
	}
	return ""
}

// moves returns whose authority is being moved, or that it is open yet whether Cluster API can make what the set describes now; "" for neither.
// Until then nothing is begun, but that a Machine which somebody deletes, or which is gone, is replaced while another one moves.
func (p *Plan) moves() string { return cmp.Or(p.standsStill(), p.machineMoves()) }

// standsStill is of moves what leaves open whose a new Machine would be.
func (p *Plan) standsStill() string {
	if p.authority == authority.Migrating {
		return "the end of the set's move: status.authoritativeAPI is Migrating"
	}
	if p.view.Behind && p.makesFor() == machinev1beta1.MachineAuthorityClusterAPI {
		return "Cluster API's side to follow the set: status.synchronizedGeneration is behind metadata.generation"
	}
	return ""
}

func (p *Plan) machineMoves() string {
	for _, m := range p.Machines() {
		if m.moving() {
			return "the end of the move of " + m.Name + ": " + m.moves()
		}
	}
	return ""
}

// lost names an index none of whose Machines is ready. Recreate takes no second one away.
func (p *Plan) lost() string {
	for _, i := range p.Indexes {
		if !anyReady(i.Machines) {
			return strings.Join(NamesOf(i.Machines, nil), ", ")
		}
	}
	return ""
}

// joining reports whether a Machine has yet to get its Node. One that had a Node and lost it may stay so for ever, and holds nothing up.
func (m MachineState) joining() bool { return m.machine.Status.NodeRef == nil }

// lost reports whether a Machine is not ready, and not only for less than the grace, as at a reboot: what is given up for it would be given up for nothing.
func (m MachineState) lost() bool { return !m.Ready && (m.serves || !m.available) }

// outdated is the index's oldest Machine that is to be replaced.
func (i Index) outdated() MachineState {
	for _, m := range i.Machines {
		if !m.Updated() && !m.Deleting {
			return m
		}
	}
	return MachineState{}
}

// Outdated are the indexes whose Machine is to be replaced and has no replacement yet, in the order in which they are.
func (p *Plan) Outdated() []Index {
	var out []Index
	for _, i := range p.Indexes {
		has := func(is func(MachineState) bool) bool { return slices.ContainsFunc(i.Machines, is) }
		if has(func(m MachineState) bool { return !m.Updated() && !m.Deleting }) && !has(func(m MachineState) bool { return m.Updated() && !m.Deleting }) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b Index) int { return compareBool(!a.outdated().lost(), !b.outdated().lost()) })
	return out
}

// maxDifferences is how many differences a sentence lists.
const maxDifferences = 5

// ListDifferences is what differs in a sentence, the first few of many.
func ListDifferences(all []Difference) string {
	var out []string
	for _, d := range all[:min(len(all), maxDifferences)] {
		out = append(out, d.String())
	}
	if more := len(all) - maxDifferences; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
