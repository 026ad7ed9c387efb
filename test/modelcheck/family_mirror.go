// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// unlockedDeeds are the deeds that carry no resourceVersion: deletions name their object by its UID.
var unlockedDeeds = map[deed]bool{removeM: true, removeC: true}

// familyMirror is the mirror. It looks at one pair of the family at a time, decides, and writes.
type familyMirror struct{}

// Moves implements actor.
func (familyMirror) Moves(t *familyTurn) {
	if t.was.gate == gateOff {
		return
	}
	if step := t.was.step; step.do != nothing {
		t.may(mirror, "the mirror "+t.name(step), func(w *family) {
			w.step = decision{}
			if !step.late || unlockedDeeds[step.do] {
				t.perform(w, step)
			}
		})
		if t.can(crashes) {
			t.may(user, "the manager dies before it is written", func(w *family) { w.step = decision{} })
		}
		return
	}
	for of := range uint8(maxMachines + 1) {
		if do := t.decide(of); do != nothing {
			t.may(mirror, "the mirror looks at "+t.subject(of), func(w *family) { w.step = decision{do: do, of: of} })
		}
	}
}

// decide returns the mirror's next deed: for the two sets if `of` is 0, else for the Machine with that number. It asks authority.DeletionState, with the state
// that reconcilers/mirror would gather.
func (t *familyTurn) decide(of uint8) deed {
	w := &t.was
	authoritative, m, c := w.course.source(), w.sm, w.sc
	if of > 0 {
		authoritative, m, c = w.machines[of-1].authoritative(), w.machines[of-1].m, w.machines[of-1].c
	}
	if !m.has(here) {
		authoritative = authority.Unset
	}
	d := authority.DeletionState{Authority: authoritative, MachineAPI: m.presence(), ClusterAPI: c.presence(), Marked: m.has(synch) || c.has(synch)}
	switch {
	case w.gate != gateOn:
		d.Gate = authority.GateOff
	case m.has(asleep):
		d.Gate = authority.GateOffThen
	}
	if w.namespaceDeleted {
		d.Surroundings = authority.Go
	}
	mirror := t.mirrorOf(authoritative, m, c)
	if of > 0 {
		d.Detached = m.has(off)
		d.Owned = mirror.has(here) && mirror&(mine|once) != 0
		if d.Owned && mirror.has(going) {
			d.Parent = t.parentOf(mirror, authoritative.Other())
		}
	} else if mirror.has(going) && authoritative != authority.Unset {
		d.Children = t.undetached(authoritative.Other()) != 0
	}
	if of == 0 {
		d.InTransit = w.course.current == authority.Migrating
		d.Unreleased = authoritative == authority.ClusterAPI && c.has(here) && w.course.paused
	}
	if authoritative == authority.MachineAPI {
		d.Held = m.has(holds)
	} else {
		d.Held = c.has(holds)
	}
	return t.deed(of, t.rules.deletion(d), authoritative, m, c)
}

func (t *familyTurn) mirrorOf(authoritative authority.API, m, c member) member {
	switch authoritative {
	case authority.MachineAPI:
		return c
	case authority.ClusterAPI:
		return m
	}
	return 0
}

// parentOf returns what the mirror finds of the sets above a Machine. A set of another UID than the owner reference names counts as absent.
func (t *familyTurn) parentOf(mirror member, side authority.API) authority.Parent {
	w := &t.was
	p := authority.Parent{MachineAPI: w.sm.presence(), ClusterAPI: w.sc.presence()}
	if w.sm.has(here) {
		p.Authority = w.course.source()
	}
	if mirror.has(once) {
		if side == authority.MachineAPI {
			p.MachineAPI = authority.Absent
		} else {
			p.ClusterAPI = authority.Absent
		}
	}
	return p
}

// undetached returns the number, from 1, of the first Machine on a side that would be deleted with its set; 0: there is none.
func (t *familyTurn) undetached(side authority.API) uint8 {
	for i := range t.was.machines {
		k := t.was.machines[i].on(side)
		if k.has(here|mine) && !(side == authority.MachineAPI && k.has(off) && t.marks(t.was.machines[i])) {
			return uint8(i + 1)
		}
	}
	return 0
}

// deed returns the next request of a step of a deletion.
func (t *familyTurn) deed(of uint8, step authority.DeletionStep, authoritative authority.API, m, c member) deed {
	on := func(a authority.API, ifM, ifC deed) deed {
		if a == authority.MachineAPI {
			return ifM
		}
		return ifC
	}
	switch step {
	case authority.DeleteMirror:
		return on(authoritative.Other(), removeM, removeC)
	case authority.DeleteAuthority:
		return on(authoritative, removeM, removeC)
	case authority.DetachChildren:
		return on(authoritative.Other(), detachM, detachC)
	case authority.ReleaseMirror:
		return on(authoritative.Other(), held(m, freeM), held(c, freeC))
	case authority.ReleaseAuthority:
		return on(authoritative, held(m&^holds, endM), held(c&^holds, endC))
	case authority.Forget:
		if m.has(here) {
			return forgetM
		}
		return held(c&^holds, forgetC)
	case authority.KeepMirroring:
		return t.keep(of, authoritative, m, c)
	}
	return nothing
}

func held(m member, d deed) deed {
	if m&(synch|holds) != 0 {
		return d
	}
	return nothing
}

// keep returns the next request if nothing is to be deleted: it creates a missing mirror, or makes the mirror of a Machine's set the owner of the Machine's
// mirror.
func (t *familyTurn) keep(of uint8, authoritative authority.API, m, c member) deed {
	w := &t.was
	switch {
	case w.namespaceDeleted && (!m.has(here) || !c.has(here)):
		return nothing // the mirror recreates nothing until the namespace is there again
	case !m.has(here):
		if of > 0 && c.presence() == authority.Present && c.has(mine) && w.sc.presence() == authority.Present && w.sm.presence() == authority.Present &&
			w.course.source() == authority.ClusterAPI {
			return makeKidM
		}
		return nothing
	case !c.has(here):
		return makeMachineC
	case !m.has(synch) || !c.has(synch):
		return enrolBoth
	case of == 0 && w.course.behind:
		return equalize
	case of > 0 && authoritative == authority.MachineAPI && m.has(mine) && w.sc.presence() == authority.Present && !c.has(mine):
		return joinC
	case of > 0 && !t.forgetsOwner && t.restores(authoritative, m, c):
		return map[authority.API]deed{authority.MachineAPI: joinM, authority.ClusterAPI: joinC}[authoritative]
	case of > 0 && authoritative == authority.MachineAPI && c.has(mine) &&
		(t.losesOwner && !(m.has(mine) && w.sc.presence() == authority.Present) || !m.has(mine) && w.sm.has(here) && w.course.source() == authority.MachineAPI):
		return disownC // a set of Cluster API's that acts keeps what it owns
	case of > 0 && authoritative == authority.ClusterAPI && c.has(mine) && w.sm.presence() == authority.Present && (!m.has(mine) || m.has(off)):
		return joinM
	}
	return nothing
}

// restores reports whether the mirror gives an authoritative Machine back to its set, which was recreated and does not act, while the other set owns the
// Machine's mirror. This write and the deletion of the set exclude each other.
func (t *familyTurn) restores(authoritative authority.API, m, c member) bool {
	machine, mirror := m, c
	if authoritative == authority.ClusterAPI {
		machine, mirror = c, m
	}
	return !t.was.namespaceDeleted && t.was.course.adoptsNothing(authoritative) && mirror.has(mine) && !machine.has(mine) &&
		(t.was.sm.presence() == authority.Present && !mirror.has(off) ||
			t.was.sm.has(here) && authoritative == authority.ClusterAPI && t.was.course.source() == authority.ClusterAPI) &&
		t.was.sc.presence() == authority.Present
}

func (t *familyTurn) perform(w *family, d decision) {
	m, c := &w.sm, &w.sc
	if d.of > 0 {
		m, c = &w.machines[d.of-1].m, &w.machines[d.of-1].c
	}
	remove := func(o *member) {
		if o.has(here) && !o.has(going) {
			if *o |= going; d.of == 0 {
				*o |= orphans // the Machines of the mirror follow their own twins
			}
		}
	}
	owner := func(o *member, a authority.API) {
		if *o &^= mine | once; d.of > 0 && w.sets(a).presence() == authority.Present {
			*o |= mine
		}
	}
	switch d.do {
	case removeM:
		remove(m)
	case removeC:
		remove(c)
	case freeM:
		*m &^= synch | holds
	case freeC:
		*c &^= synch | holds
	case endM, forgetM:
		*m &^= synch
		if d.do == forgetM {
			*c &^= synch
		}
	case endC, forgetC:
		*c &^= synch
	case detachM:
		if i := t.undetachedOf(w, authority.MachineAPI); i > 0 {
			if t.marks(w.machines[i-1]) {
				w.machines[i-1].m |= off
			} else {
				w.machines[i-1].m &^= mine | once
			}
		}
	case detachC:
		if i := t.undetachedOf(w, authority.ClusterAPI); i > 0 {
			w.machines[i-1].c &^= mine | once
		}
	case joinM:
		owner(m, authority.MachineAPI)
		*m &^= off
	case joinC:
		owner(c, authority.ClusterAPI)
	case disownC:
		*c &^= mine
	case makeKidM:
		*m = here | synch
		owner(m, authority.MachineAPI)
		*c |= synch
	case makeMachineC:
		*c = here | synch | holds
		if d.of == 0 {
			w.course.paused, w.course.c = true, authority.NotAcknowledged
		}
		if m.has(mine) {
			owner(c, authority.ClusterAPI)
		}
		*m |= synch
	case equalize:
		w.course.behind = false
	case enrolBoth:
		if !m.has(going) && !c.has(going) {
			*m, *c = *m|synch, *c|synch
		}
	}
}

// marks reports whether a Machine API Machine of a deleted set's mirror is detached by a mark, and left to the collector. Otherwise its owner reference is
// removed. A Machine for which the Machine API is authoritative needs the latter, because the collector must not delete it.
func (t *familyTurn) marks(k ownedMachine) bool { return k.clusters || t.marksOnly }

func (t *familyTurn) undetachedOf(w *family, side authority.API) uint8 {
	u := familyTurn{t.families, *w, nil}
	return u.undetached(side)
}

func (t *familyTurn) subject(of uint8) string {
	if of == 0 {
		return "the MachineSets"
	}
	return fmt.Sprintf("Machine %d", of)
}

var deedWords = map[deed]string{
	removeM: "deletes the Machine API object of", removeC: "deletes the Cluster API object of", freeM: "releases the Machine API mirror of",
	freeC: "releases the Cluster API mirror of",
	endM:  "lets the Machine API object go of", endC: "lets the Cluster API object go of", forgetM: "forgets the twin of", forgetC: "forgets the twin of",
	detachM: "marks a Machine detached for", detachC: "takes an owner reference off a Cluster API Machine for",
	joinM: "makes its set the owner of the Machine API object of",
	joinC: "makes its set the owner of the Cluster API object of", disownC: "makes the Cluster the owner of the Cluster API object of",
	makeKidM: "makes the Machine API object of", makeMachineC: "makes the Cluster API object of", enrolBoth: "enrols both objects of", equalize: "makes equal",
}

func (t *familyTurn) name(d decision) string {
	what := deedWords[d.do] + " " + t.subject(d.of)
	if d.late && !unlockedDeeds[d.do] {
		return "is refused, somebody was faster: it " + what
	}
	return what
}
