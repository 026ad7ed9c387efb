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

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/policies/authority"
)

// Verb is what a step does with a Machine.
type Verb string

// The verbs.
const (
	// Adopt makes the set the Machine's controller.
	Adopt Verb = "Adopt"
	// Amend patches the differences that can be changed in place.
	Amend Verb = "Amend"
	// Create creates a Machine at the index.
	Create Verb = "Create"
	// Delete deletes the Machine. Hooks hold the deleted Machine for as long as etcd needs it.
	Delete Verb = "Delete"
)

// PlannedStep is one thing to do.
type PlannedStep struct {
	Verb  Verb
	Index Index
	// Machine is the Machine that is adopted, amended or deleted.
	Machine MachineState
	// Why is the reason, in a sentence for an event.
	Why string
	// Cause is why a Machine is created or deleted, in a word.
	Cause Cause
}

// Cause is why a Machine is created or deleted.
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

// Steps returns what to do now. All of the steps can be done in one pass. At most one of them creates or deletes a Machine, because the next such step depends
// on its result. Steps returns nothing for a set that is inactive, has problems or moves its authority.
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
				out = append(out, PlannedStep{Verb: Amend, Index: i, Machine: m, Why: "It differs from the template in fields that are changed in place: " +
					"" + ListDifferences(all) + "."})
			}
		}
	}
	if s, ok := p.change(); ok {
		out = append(out, s)
	}
	return out
}

// change returns the next step that creates or deletes a Machine; false if there is none.
func (p *Plan) change() (PlannedStep, bool) {
	s, ok, _ := p.changing()
	return s, ok
}

// changing returns the next step that creates or deletes a Machine, and whether there is one. If a deletion would come before that step but has to wait, held
// is a clause that says what the deletion waits for.
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
			continue // a moving Machine may wait for a person, and the replacement of a Machine that is gone must not wait for that
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

// short returns what a deletion waits for if it would leave too few indexes with a Node that is ready; "" if it need not wait. The set checks this itself,
// because etcd's hook may still be missing on a Machine that has just joined. Deleting a Machine whose Node is not ready does not reduce the number, so it does
// not wait.
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
	return fmt.Sprintf("the Nodes of other control plane Machines to be ready: without %s, only %d of %d indexes would have a ready Node, and etcd needs %d",
		s.Machine.Name, left, len(p.Indexes), quorum)
}

// room reports whether the control plane may have one more Machine. Machines that are being deleted count.
func (p *Plan) room() bool { return len(p.Machines()) < p.Replicas+surge }

// surplus returns the step that deletes one of two updated Machines of an index. An index has two if each of two passes created one, or if somebody else
// created one.
func surplus(i Index) (PlannedStep, bool) {
	var good []MachineState
	for _, m := range i.Machines {
		if m.Updated() && !m.Deleting {
			good = append(good, m)
		}
	}
	if len(good) < 2 || !anyReady(good) && !allOf(good, MachineState.joining) {
		return PlannedStep{}, false // one Machine has lost its Node, and the other is to replace it: the one that gets ready stays
	}
	slices.SortStableFunc(good, func(a, b MachineState) int {
		return cmp.Or(compareBool(!a.Ready, !b.Ready), a.born.Compare(b.born))
	})
	return PlannedStep{Verb: Delete, Index: i, Machine: good[len(good)-1], Why: fmt.Sprintf("Index %d has %s already.", i.Number, good[0].Name)}, true
}

func allOf(all []MachineState, is func(MachineState) bool) bool {
	return !slices.ContainsFunc(all, func(m MachineState) bool { return !is(m) })
}

// unasked turns the function "find", which looks for a deletion at one index, into a function for changing. That function returns the deletion at the first
// index that needs one. With the strategy OnDelete it returns none, because a person deletes.
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

// undeleted returns the deletions that the strategy OnDelete leaves to a person: those of Machines that are not needed beside another Machine of their index.
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

// replaced returns the step that deletes an outdated Machine whose replacement is ready.
func replaced(i Index) (PlannedStep, bool) {
	at := slices.IndexFunc(i.Machines, func(m MachineState) bool { return m.Updated() && m.Ready })
	old := slices.IndexFunc(i.Machines, func(m MachineState) bool { return !m.Updated() && !m.Deleting })
	if at < 0 || old < 0 {
		return PlannedStep{}, false
	}
	return PlannedStep{Verb: Delete, Index: i, Machine: i.Machines[old], Why: "Its replacement is " + i.Machines[at].Name + "."}, true
}

// superseded returns the step that deletes one of two Machines of an index if neither is both ready and equal to the template. That happens if the template
// changes again during a replacement. The Machine is deleted before another one is created: otherwise each change would add a Machine to the index.
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
		return PlannedStep{Verb: Delete, Index: i, Machine: goes, Why: fmt.Sprintf("It is outdated (%s). %s at the same index is outdated too, so this Machine "+
			"is not needed.",
			ListDifferences(goes.In(Rollout)), stays.Name)}, true
	}
	if goes.Updated() && goes.lost() && !goes.joining() && stays.Ready && !stays.Updated() && goes.born.Before(stays.born) {
		return PlannedStep{Verb: Delete, Index: i, Machine: goes, Why: fmt.Sprintf("%s was created in its place and is ready, but this Machine is not ready.",
			stays.Name)}, true
	}
	return PlannedStep{}, false
}

// vacant returns the step that creates the Machine of an index without one. It returns none while there is a Node whose Machine may only have lost a label,
// because that Machine may belong to the index.
func (p *Plan) vacant() (PlannedStep, bool) {
	for _, i := range p.Indexes {
		if len(i.Machines) == 0 && p.room() && p.left() == "" {
			return PlannedStep{Verb: Create, Index: i, Why: fmt.Sprintf("Index %d has no Machine.", i.Number)}, true
		}
	}
	return PlannedStep{}, false
}

// leaving returns the step that creates a Machine at an index whose Machines are all being deleted. If there is no room for one more Machine, the new Machine
// waits until one of the deleted Machines is gone.
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

// renew returns the step that begins to replace the next outdated Machine. Lost Machines come first, because they are out of service already; the rest follow
// by index. It returns none while a Machine is joining or being deleted.
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
		return PlannedStep{Verb: Delete, Index: i, Machine: old, Why: "It is outdated, and the strategy Recreate deletes it before its replacement is created: " +
			ListDifferences(old.In(Rollout)) + "."}, true
	}
	if !p.room() {
		return PlannedStep{}, false
	}
	return PlannedStep{Verb: Create, Index: i, Why: old.Name + " is outdated: " + ListDifferences(old.In(Rollout)) + "."}, true
}

// busy returns a clause that names a Machine that is joining or being deleted, or an index without a Machine; "" if there is neither.
func (p *Plan) busy() string {
	for _, i := range p.Indexes {
		for _, m := range i.Machines {
			switch {
			case m.Deleting:
				return m.Name + " is being deleted" + p.held(m)
			case m.Failed && m.Updated() && m.joining():
				return m.Name + " has failed before it had a Node: fix what its status.errorMessage names, then delete it"
			case m.Updated() && !m.Ready && (m.joining() || len(i.Machines) > 1):
				return m.Name + " is not ready yet" + m.Unmade()
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

// longestRefusal is how many bytes of a cloud's answer a sentence quotes. The Machine's status has the whole answer.
const longestRefusal = 200

// Unmade returns why a Machine without a Node has no instance: Cluster API cannot have the Machine, its Cluster is paused, or the cloud refuses to create the
// instance. The text continues a sentence. It is "" if no obstacle is found.
func (m MachineState) Unmade() string {
	if !m.joining() {
		return ""
	}
	ofClusterAPI := m.machine.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityClusterAPI
	for _, c := range m.machine.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionFalse:
		case c.Type == authority.ConditionSynchronized && ofClusterAPI:
			return fmt.Sprintf(": its condition Synchronized is False, so Cluster API creates no instance for it (%s: %s)", c.Reason, c.Message)
		case c.Type == authority.ConditionSettled && c.Reason == authority.ReasonPausedElsewhere && ofClusterAPI:
			return fmt.Sprintf(": its condition AuthoritySettled is False (%s: %s)", c.Reason, c.Message) // whole, as a command is at its end
		case c.Type == machinev1beta1.MachineCreated && c.Message != "":
			return fmt.Sprintf(": its condition MachineCreated is False (%s: %s)", c.Reason, eventnote.Cut(c.Message, longestRefusal))
		case c.Type == machinev1beta1.InstanceExistsCondition && ofClusterAPI && authority.Fails(c.Reason):
			why := c.Reason // the provider may give no message
			if c.Message != "" {
				why += ": " + eventnote.Cut(c.Message, longestRefusal)
			}
			return fmt.Sprintf(": its condition InstanceExists is False, as Cluster API reports (%s)", why)
		}
	}
	return ""
}

// moves returns a clause that says whose authority is moving, or that it is not known yet whether Cluster API can express what the set describes; "" if neither
// is so. While the clause is not "", no step creates or deletes a Machine, with one exception: while a Machine moves, a replacement is created for another
// Machine that somebody deletes or that is gone.
func (p *Plan) moves() string { return cmp.Or(p.standsStill(), p.machineMoves()) }

// standsStill returns the clause of moves for the time in which it is open which API a new Machine would belong to; "" at other times. No Machine is created in
// that time.
func (p *Plan) standsStill() string {
	if p.authority == authority.Migrating {
		return "the move of the ControlPlaneMachineSet to end: its status.authoritativeAPI is Migrating"
	}
	if p.view.Behind && p.MakesFor() == machinev1beta1.MachineAuthorityClusterAPI {
		return "Poundlock to mirror the ControlPlaneMachineSet to Cluster API: its status.synchronizedGeneration is behind its metadata.generation"
	}
	return ""
}

func (p *Plan) machineMoves() string {
	for _, m := range p.Machines() {
		if m.moving() {
			return "the move of Machine " + m.Name + " to end: " + m.moves()
		}
	}
	return ""
}

// lost returns the names of the Machines of the first index that has no ready Machine; "" if each index has a ready Machine. While there is such an index, the
// strategy Recreate deletes no Machine of another index.
func (p *Plan) lost() string {
	for _, i := range p.Indexes {
		if !anyReady(i.Machines) {
			return strings.Join(NamesOf(i.Machines, nil), ", ")
		}
	}
	return ""
}

// joining reports whether a Machine has not got its Node yet. It is false for a Machine that had a Node and lost it: such a Machine may never get a Node again,
// and nothing waits for it.
func (m MachineState) joining() bool { return m.machine.Status.NodeRef == nil }

// lost reports whether a Machine is not ready and a reboot does not explain that. A Node that has been not ready for less than NotReadyGrace may be rebooting,
// and would be ready again.
func (m MachineState) lost() bool { return !m.Ready && (m.serves || !m.available) }

// outdated returns the index's oldest Machine that has to be replaced.
func (i Index) outdated() MachineState {
	for _, m := range i.Machines {
		if !m.Updated() && !m.Deleting {
			return m
		}
	}
	return MachineState{}
}

// Outdated returns the indexes that have a Machine to replace and no replacement yet: first those with a lost Machine, otherwise in order.
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

// ListDifferences lists the first few differences in a sentence.
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
