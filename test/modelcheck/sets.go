// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// mostMachines is the most Machines that a pair of sets that moves can have: one more than the most replicas that anybody asks for.
const mostMachines = 3

// setPair is a state of the model: a pair of MachineSets while authority over it moves, and their Machines. The walk checks which Machines each set counts.
type setPair struct {
	current, origin, requested authority.API
	m, c                       setSide
	// finalizer: Cluster API's set has its own finalizer. pauseRequested: that set has the pause annotation.
	finalizer, pauseRequested bool
	// behind: the mirror has not seen the last change of the set that it copies from. known: the mirror has run in the present direction.
	behind, known bool
	machines      [mostMachines]machinePair
	// creating, deleting: Cluster API's controller has decided to create or delete a Machine, in a pass that began before the pause was requested.
	creating, deleting bool
	// checked: a MachineHealthCheck of Cluster API's looks at the Machines of Cluster API.
	checked bool
	step    setStep
	// excess names a creation or a deletion of a Machine that nobody asked for.
	excess excess
}

// setSide is one of the two sets: its desired replicas, and what its controller acknowledged last.
type setSide struct {
	here         bool
	replicas     uint8
	acknowledged authority.AcknowledgedState
}

// machinePair is the pair of a Machine. refused: the mirror cannot create the other object. marked: Cluster API's check asks the Machine's set to delete it.
// stale: the mark is out of date, because no check looks at the Machine any more and the set was not acting.
type machinePair struct {
	m, c                   member
	refused, marked, stale bool
}

func (k machinePair) on(a authority.API) member {
	if a == authority.MachineAPI {
		return k.m
	}
	return k.c
}

func (k *machinePair) at(a authority.API) *member {
	if a == authority.MachineAPI {
		return &k.m
	}
	return &k.c
}

// stays reports whether the Machine exists and nobody has asked for its end.
func (k machinePair) stays() bool { return k.m|k.c != 0 && !k.m.has(going) && !k.c.has(going) }

func counts(m member) bool { return m.has(here|mine) && !m.has(going) }

type excess uint8

const (
	noExcess excess = iota
	createdInPlace
	deletedForNothing
	deletedByMark
)

// setStep is a pass of the handoff: what it has read, then the step that it has decided on and not written yet.
type setStep struct {
	reading bool
	// read is the state of the sets as the handoff read it.
	read authority.State
	step authority.Step
	// lateM, lateC: the Machine API set, or Cluster API's, has changed since the handoff read it. A late step is refused.
	lateM, lateC bool
}

// setPairs is the model of sets that move.
type setPairs struct {
	rules
	begin map[string]setPair
	may   deeds
}

func (f *setPairs) starts() map[string]setPair { return f.begin }

// newSetPair returns a synchronized pair of sets with one Machine, or, with fresh, a set that was just created and has neither a mirror nor a Machine.
func newSetPair(authoritative authority.API, fresh bool) setPair {
	w := setPair{current: authoritative, origin: authoritative, requested: authoritative, known: !fresh, behind: fresh}
	w.m = setSide{here: true, replicas: 1, acknowledged: authority.AcknowledgedPaused}
	w.c = setSide{here: !fresh, replicas: 1, acknowledged: authority.AcknowledgedPaused}
	w.finalizer, w.pauseRequested = !fresh, authoritative == authority.MachineAPI && !fresh
	if authoritative == authority.MachineAPI {
		w.m.acknowledged = authority.AcknowledgedUnpaused
	} else {
		w.c.acknowledged = authority.AcknowledgedUnpaused
	}
	if fresh {
		w.c = setSide{}
		return w
	}
	w.machines[0] = machinePair{m: here | mine, c: here | mine}
	return w
}

func (w *setPair) source() authority.API {
	if w.current == authority.Migrating {
		return w.origin
	}
	return w.current
}

func (w *setPair) set(a authority.API) *setSide {
	if a == authority.MachineAPI {
		return &w.m
	}
	return &w.c
}

func (w *setPair) state(uncounted authority.Who) authority.State {
	s := authority.State{Enabled: true, Requested: w.requested, Current: w.current, Origin: w.origin, CaughtUp: !w.behind && w.known,
		Instance: authority.InstanceKnown, Uncounted: uncounted, Judged: w.judged(),
		MachineAPI: authority.Party{Exists: true, Acknowledged: w.m.acknowledged}, Synchronized: metav1.ConditionUnknown}
	if w.known {
		s.Synchronized = metav1.ConditionTrue
	}
	if w.c.here {
		s.ClusterAPI = authority.Party{Exists: true, PauseRequested: w.pauseRequested, Acknowledged: w.c.acknowledged, Finalizer: authority.FinalizerAbsent}
		if w.finalizer {
			s.ClusterAPI.Finalizer = authority.FinalizerPresent
		}
	}
	return s
}

// uncounted returns what authority.Roster finds: the sides that count a Machine which the other side does not count.
func (w *setPair) uncounted() (who authority.Who) {
	for _, k := range w.machines {
		who |= countedAlone(k.m, k.c)
	}
	return who
}

// countedAlone returns the side whose set counts a Machine that the other side's set does not count; 0 if both or neither do.
func countedAlone(m, c member) authority.Who {
	switch {
	case counts(m) && !counts(c):
		return authority.WhoMachineAPI
	case counts(c) && !counts(m):
		return authority.WhoClusterAPI
	}
	return 0
}

// judged returns what authority.Roster finds of marks: whether Cluster API's set counts a marked Machine at which no check looks any more.
func (w *setPair) judged() bool {
	return !w.checked && w.c.here && slices.ContainsFunc(w.machines[:], func(k machinePair) bool { return k.marked && counts(k.c) })
}

// number returns how many Machines the set of an API counts.
func (w *setPair) number(a authority.API) (n uint8) {
	for _, k := range w.machines {
		if counts(k.on(a)) {
			n++
		}
	}
	return n
}

// staying returns how many Machines stay, whichever set counts them.
func (w *setPair) staying() (n uint8) {
	for _, k := range w.machines {
		if k.stays() {
			n++
		}
	}
	return n
}

type setTurn struct {
	*setPairs
	was     setPair
	happens func(move, setPair)
}

func (f *setPairs) moves(w setPair, happens func(move, setPair)) {
	t := setTurn{f, w, happens}
	for _, a := range setsActors {
		a.Moves(&t)
	}
}

// do emits one change. It keeps the Machines in order, because their names mean nothing: states that differ only in their order become one.
func (t *setTurn) do(by mover, what string, change func(*setPair)) {
	w := t.was
	change(&w)
	if t.was.step != (setStep{}) && w.step != (setStep{}) {
		w.step.lateM = w.step.lateM || w.m != t.was.m || w.current != t.was.current || w.requested != t.was.requested ||
			w.known != t.was.known || w.behind != t.was.behind
		w.step.lateC = w.step.lateC || w.c != t.was.c || w.pauseRequested != t.was.pauseRequested || w.finalizer != t.was.finalizer
	}
	slices.SortFunc(w.machines[:], func(a, b machinePair) int {
		return cmp.Or(-cmp.Compare(a.m, b.m), -cmp.Compare(a.c, b.c), cmp.Compare(boolean(a.refused), boolean(b.refused)),
			cmp.Compare(boolean(a.marked), boolean(b.marked)), cmp.Compare(boolean(a.stale), boolean(b.stale)))
	})
	t.happens(move{by: by, what: what, spontaneous: by == user}, w)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *setTurn) can(d deeds) bool { return t.setPairs.may&d == d }

// creates emits the creation of a Machine by a set. Whether the creation is excessive is judged at the moment when the set decided on it.
func (t *setTurn) creates(a authority.API) {
	create := func(w *setPair) {
		if a == authority.MachineAPI {
			w.judge(a)
		}
		w.creating = false
		for i := range w.machines {
			if w.machines[i] == (machinePair{}) {
				*w.machines[i].at(a) = here | mine
				return
			}
		}
	}
	t.do(controller, a.Text()+"'s set creates a Machine", create)
	if t.can(refusals) {
		t.do(user, a.Text()+"'s set creates a Machine that does not convert", func(w *setPair) { create(w); w.refuse() })
	}
}

// judge records an excess of the set of API a: it creates a Machine although there are enough, or deletes one although there are not too many.
func (w *setPair) judge(a authority.API) {
	want, counted, staying := w.set(a).replicas, w.number(a), w.staying()
	switch {
	case counted < want && staying >= want:
		w.excess = createdInPlace
	case counted > want && staying <= want:
		w.excess = deletedForNothing
	}
}

// room reports whether the model has room for another Machine.
func (w *setPair) room() bool {
	return slices.Contains(w.machines[:], machinePair{})
}

func (w *setPair) refuse() {
	for i, k := range w.machines {
		if k.stays() && (k.m == 0 || k.c == 0) && !k.refused {
			w.machines[i].refused = true
			return
		}
	}
}

func (w *setPair) delete(a authority.API) {
	for i := range w.machines {
		if counts(w.machines[i].on(a)) {
			*w.machines[i].at(a) |= going
			return
		}
	}
}

func (f *setPairs) wrong(w setPair) string { return firstBroken(setInvariants, f, &w) }

var setInvariants = []invariant[*setPairs, *setPair]{
	{"a set created a Machine in the place of one that there is", func(_ *setPairs, w *setPair) bool { return w.excess == createdInPlace }},
	{"a set deleted a Machine by the mark of a check of long ago", func(_ *setPairs, w *setPair) bool { return w.excess == deletedByMark }},
	{"a set deleted a Machine that nobody asked to end", func(_ *setPairs, w *setPair) bool { return w.excess == deletedForNothing }},
	{"both sets act", func(_ *setPairs, w *setPair) bool {
		return w.current == authority.MachineAPI && w.c.here && !w.pauseRequested &&
			w.m.acknowledged == authority.AcknowledgedUnpaused && w.c.acknowledged == authority.AcknowledgedUnpaused && w.creating
	}},
}

func (f *setPairs) unrest(w setPair) string {
	step := f.rules.next(w.state(w.uncounted()))
	switch {
	case step.Action == authority.Wait && step.Reason == authority.ReasonUncounted &&
		slices.ContainsFunc(w.machines[:], func(k machinePair) bool { return k.refused }):
		return "" // the condition names the Machine
	case step.Action != authority.Settle:
		return fmt.Sprintf("the handoff does not settle: %s %s", step.Action, step.Reason)
	case w.staying() != w.set(w.current).replicas:
		return fmt.Sprintf("there are %d Machines, and %s's set is to have %d", w.staying(), w.current.Text(), w.set(w.current).replicas)
	case w.m.replicas != w.c.replicas:
		return fmt.Sprintf("the sets are to have %d and %d Machines", w.m.replicas, w.c.replicas)
	}
	for _, k := range w.machines {
		if k.stays() && !counts(k.on(w.current)) {
			return "a Machine belongs to nobody"
		}
	}
	return ""
}

func (f *setPairs) describe(w setPair) string {
	out := fmt.Sprintf("status %s, from %s, asked for %s; Machine API's set: %d replicas, answer %d; Cluster API's: %d replicas, pause requested %v, answer %d",
		w.current, w.origin, w.requested,
		w.m.replicas, w.m.acknowledged, w.c.replicas, w.pauseRequested, w.c.acknowledged)
	for _, k := range w.machines {
		if k != (machinePair{}) {
			out += fmt.Sprintf("; a Machine: counted by Machine API %v, by Cluster API %v, refused %v", counts(k.m), counts(k.c), k.refused)
		}
	}
	return out
}

// movingSets returns the walk of a pair of sets over which authority moves.
func movingSets(authoritative authority.API, fresh bool, may deeds) walking {
	return func(r rules, most int) result {
		return resultOf(&setPairs{rules: r, may: may, begin: map[string]setPair{nameOfSets(authoritative, fresh): newSetPair(authoritative, fresh)}}, most)
	}
}

func nameOfSets(authoritative authority.API, fresh bool) string {
	if fresh {
		return "a MachineSet that was just created, " + authoritative.Text() + "'s, and its Machines"
	}
	return "a MachineSet that is " + authoritative.Text() + "'s, and its Machines"
}
