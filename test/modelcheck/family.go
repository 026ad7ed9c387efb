// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poundlock/poundlock/policies/authority"
)

// maxMachines is the most Machines that a family has.
const maxMachines = 2

// family is a state of the model: a pair of MachineSets and the pairs of their Machines. The walk checks deletions. Authority over the Machines does not move
// here. Authority over the sets moves in walks with the deed flips.
type family struct {
	sm, sc   member
	course   course
	machines [maxMachines]ownedMachine
	// replicas is how many Machines the authoritative set is to have.
	replicas uint8
	// step is the request for the sets or a Machine that the mirror has decided on and not yet made.
	step decision
	// inPlace: a set would have created a Machine in the place of one that it does not count.
	inPlace bool
	// namespaceDeleted: the Cluster API namespace is being deleted, with everything in it.
	namespaceDeleted bool
	// gate is the feature gate of the Machine API's controllers.
	gate gateIs
}

// gateIs is the state of the feature gate, and whether Poundlock has seen that it is off.
type gateIs uint8

const (
	gateOn gateIs = iota
	// gateOffUnseen: the gate is off, and Poundlock has not stopped mirroring yet.
	gateOffUnseen
	gateOff
)

// member is one object of the family, as a set of bits.
type member uint16

const (
	here member = 1 << iota
	going
	synch
	// holds is the finalizer of the object's own controller. synch above is Poundlock's.
	holds
	foreground
	orphans
	// mine: the owner reference names the set that exists. once: it names a set that is gone.
	mine
	once
	// off is Poundlock's mark on a Machine API object that was detached.
	off
	// asleep: the object was already being deleted when the feature gate was turned on again.
	asleep
)

func (m member) has(bits member) bool { return m&bits == bits }

func (m member) presence() authority.Presence {
	switch {
	case !m.has(here):
		return authority.Absent
	case m.has(going):
		return authority.Deleting
	}
	return authority.Present
}

// ownedMachine is the pair of a Machine.
type ownedMachine struct {
	m, c member
	// runs: the Machine has an instance. endedUnasked: its instance was terminated although nobody asked for that.
	runs, endedUnasked bool
	ends               end
	// clusters: Cluster API is authoritative for the Machine.
	clusters bool
	// freed: the collector made the Machine an orphan, because somebody had asked for that.
	freed bool
}

func (k ownedMachine) authoritative() authority.API {
	if k.clusters || !k.m.has(here) {
		return authority.ClusterAPI // an object that has no twin any more acts by itself
	}
	return authority.MachineAPI
}

// end is what people have asked for a Machine: that it stays, or that it ends.
type end uint8

const (
	stays end = iota
	ends
	// either: it is not decided whether the Machine is to end. For example, both sets are deleted at the same time, in ways that mean different ends for their
	// Machines.
	either
)

// decision is one request of the mirror's for one pair. of is 0 for the sets, and from 1 on a Machine's number.
type decision struct {
	do deed
	of uint8
	// late: the pair was written after the mirror had decided.
	late bool
}

type deed uint8

const (
	nothing deed = iota
	removeM
	removeC
	freeM
	freeC
	endM
	endC
	forgetM
	forgetC
	detachM
	detachC
	joinM
	joinC
	disownC
	makeKidM
	makeMachineC
	enrolBoth
	equalize
)

// families is the model of a family.
type families struct {
	rules
	// set is the API that is authoritative for the sets at the start. machine is that of the Machines, both those at the start and those that a Machine API set
	// creates from its template.
	set, machine authority.API
	begin        map[string]family
	may          deeds
	// calm: people delete nothing.
	calm bool
}

func (f *families) starts() map[string]family { return f.begin }

// newFamily returns a synchronized family: two MachineSets, and `of` Machines with instances. The APIs are those that are authoritative for the sets and for
// the Machines.
func newFamily(of int, sets, authoritative authority.API) family {
	w := family{sm: here | synch, sc: here | synch | holds, course: settled(sets), replicas: uint8(of)}
	for i := range of {
		w.machines[i] = ownedMachine{m: here | synch | holds | mine, c: here | synch | holds | mine, runs: true, clusters: authoritative == authority.ClusterAPI}
	}
	return w
}

func (w *family) sets(a authority.API) *member {
	if a == authority.MachineAPI {
		return &w.sm
	}
	return &w.sc
}

func (k *ownedMachine) on(a authority.API) *member {
	if a == authority.MachineAPI {
		return &k.m
	}
	return &k.c
}

// order sorts the Machines, because their numbers mean nothing: states that differ only in them become one. It does not while the mirror has decided about one.
func (w *family) order() {
	if w.step.do != nothing {
		return
	}
	slices.SortFunc(w.machines[:], func(a, b ownedMachine) int {
		return cmp.Or(-cmp.Compare(a.m, b.m), -cmp.Compare(a.c, b.c), cmp.Compare(a.ends, b.ends), cmp.Compare(boolean(a.runs), boolean(b.runs)),
			cmp.Compare(boolean(a.endedUnasked), boolean(b.endedUnasked)), cmp.Compare(boolean(a.clusters), boolean(b.clusters)),
			cmp.Compare(boolean(a.freed), boolean(b.freed)))
	})
}

// bury removes every object that is being deleted and has no finalizer. The owner references of a removed set's Machines then point to nothing.
func (w *family) bury() {
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		if s := w.sets(a); s.has(going) && *s&(synch|holds|foreground|orphans) == 0 {
			*s = 0
			for i := range w.machines {
				if k := w.machines[i].on(a); k.has(mine) {
					*k = *k&^mine | once
				}
			}
		}
		for i := range w.machines {
			if k := w.machines[i].on(a); k.has(going) && *k&(synch|holds|foreground|orphans) == 0 {
				*k = 0
			}
		}
	}
	for i := range w.machines {
		if k := &w.machines[i]; !k.m.has(here) && !k.c.has(here) && !k.runs && !k.endedUnasked {
			*k = ownedMachine{}
		}
	}
}

func (f *families) moves(w family, happens func(move, family)) {
	t := familyTurn{f, w, happens}
	for _, a := range familyActors {
		a.Moves(&t)
	}
}

type familyTurn struct {
	*families
	was     family
	happens func(move, family)
}

func (t *familyTurn) may(by mover, what string, change func(*family)) {
	w := t.was
	change(&w)
	w.bury()
	if w.step.do != nothing && w.step == t.was.step && w.touched(&t.was) {
		w.step.late = true
	}
	w.course.outrun(&w, &t.was)
	w.order()
	t.happens(move{by: by, what: what, spontaneous: by == user}, w)
}

// touched reports whether the pair that the mirror has decided about was written.
func (w *family) touched(was *family) bool {
	if w.step.of == 0 {
		return w.writtenM(was) || w.writtenC(was)
	}
	return w.machines[w.step.of-1] != was.machines[w.step.of-1]
}

// alone reports whether the family has no more Machines than at the start, since the walk would have too many states.
func (t *familyTurn) alone() bool { return t.can(flips) || t.can(recreates) }

func (t *familyTurn) can(d deeds) bool { return t.families.may&d == d }

// setEnds reports whether the deletion of a side's set is meant to end its Machines. It is if that side is authoritative, or if the Machine API's set is gone.
// While authority moves, it still comes from the API that the move began with.
func (t *familyTurn) setEnds(a authority.API) bool {
	return !t.was.sm.has(here) || t.was.course.source() == a
}

func (f *families) wrong(w family) string { return firstBroken(familyInvariants, f, &w) }

var familyInvariants = []invariant[*families, *family]{
	{"the instance of a Machine was ended, and nobody asked for that", func(_ *families, w *family) bool {
		return slices.ContainsFunc(w.machines[:], func(k ownedMachine) bool { return k.endedUnasked })
	}},
	{"a set created a Machine in the place of one that there is", func(_ *families, w *family) bool { return w.inPlace }},
	{"the instance of a Machine was left behind: neither object is there any more", func(_ *families, w *family) bool {
		return slices.ContainsFunc(w.machines[:], func(k ownedMachine) bool { return k.runs && !k.m.has(here) && !k.c.has(here) })
	}},
}

// setActs returns the API whose set acts once authority rests: the authoritative API, or Cluster API if the Machine API's set is gone.
func (w *family) setActs() authority.API {
	if !w.sm.has(here) {
		return authority.ClusterAPI
	}
	return w.course.current
}

func (f *families) unrest(w family) string {
	for name, o := range map[string]member{"the Machine API MachineSet": w.sm, "the Cluster API MachineSet": w.sc} {
		if o.has(going) {
			return "the deletion of " + name + " never ends"
		}
	}
	if what := f.unsettled(&w); what != "" {
		return what
	}
	acts := w.setActs()
	for i, k := range w.machines {
		switch {
		case !w.namespaceDeleted && w.sets(acts).presence() == authority.Present && k.on(acts).has(here) && !k.on(acts).has(mine) && k.m.has(here) && !k.freed:
			return fmt.Sprintf("Machine %d runs, and %s's MachineSet, which goes on, does not count it", i+1, acts.Text())
		case k.m.has(going) || k.c.has(going):
			return fmt.Sprintf("the deletion of Machine %d never ends", i+1)
		case k.c.has(here|synch) && !k.m.has(here):
			return fmt.Sprintf("a stale sync finalizer is left on Machine %d", i+1)
		case k.ends == ends && k.runs:
			return fmt.Sprintf("the instance of Machine %d was to end, and runs", i+1)
		case (k.m.has(here) || k.c.has(here)) && !k.runs && !(w.namespaceDeleted && k.clusters):
			return fmt.Sprintf("Machine %d has no instance", i+1)
		}
	}
	return ""
}

func (f *families) describe(w family) string {
	out := fmt.Sprintf("MachineSets: Machine API %s, Cluster API %s; %s", w.sm.presence(), w.sc.presence(), w.course)
	for i, k := range w.machines {
		out += fmt.Sprintf("; Machine %d: Machine API %s, Cluster API %s, instance: %v", i+1, k.m.presence(), k.c.presence(), k.runs)
	}
	return out
}
