// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// familyPerson is people who delete, scale and recreate. What they mean by it is what converting › Summary of the rules and DESIGN §3.3 say.
type familyPerson struct{}

// Moves implements actor.
func (familyPerson) Moves(t *familyTurn) {
	w := &t.was
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		if t.calm {
			break
		}
		t.deleteSet(a)
		for i := range w.machines {
			if k := *w.machines[i].on(a); !t.can(flips) && k.presence() == authority.Present {
				t.may(user, fmt.Sprintf("somebody deletes %s's Machine %d", a.Text(), i+1), func(w *family) {
					w.machines[i].ends = t.meantMachine(&t.was, i, a)
					*w.machines[i].on(a) |= going
				})
			}
		}
	}
	if t.can(edits) {
		t.may(user, "somebody scales the authoritative MachineSet", func(w *family) { w.replicas = (w.replicas + 1) % (maxMachines + 1) })
	}
	if t.can(flips) && w.sm.presence() == authority.Present {
		t.may(user, "somebody asks for "+w.course.requested.Other().Text(), func(w *family) { w.course.requested = w.course.requested.Other() })
	}
	if t.can(recreates) && !w.sm.has(here) && w.sc.presence() == authority.Present && w.course.current == authority.ClusterAPI {
		t.may(user, "somebody makes the Machine API MachineSet again", func(w *family) { w.sm = here })
	}
	if t.can(vanishes) && !w.namespaceDeleted {
		t.may(user, "somebody deletes the Cluster API namespace", func(w *family) {
			w.namespaceDeleted = true
			for i := range w.machines {
				switch k := &w.machines[i]; {
				case k.authoritative() == authority.ClusterAPI:
					k.ends = ends
				case k.ends == ends, w.sm.has(going) && k.m.has(mine) && w.course.current == authority.Migrating:
					k.ends = either // its deletion may not have been carried over yet, or authority goes to the set that is being deleted
				}
			}
		})
	}
}

// meantMachine returns whether a Machine's deletion is meant to end its instance. The deletion of a mirror whose set is being deleted may be taken for the
// collector's.
func (t *familyTurn) meantMachine(w *family, i int, on authority.API) end {
	k := &w.machines[i]
	authoritative := k.authoritative()
	switch o := *k.on(on); {
	case k.ends == ends || authoritative == on:
		return ends
	case w.gate != gateOn && w.course.source() == authority.ClusterAPI && on == authority.MachineAPI:
		return k.ends // it looks like a deletion by Machine API's set
	case w.namespaceDeleted:
		return either // nothing is carried over
	case o&(mine|once) == 0 || o.has(off) || !k.on(authoritative).has(here):
		return k.ends
	case o.has(once) || w.sm.presence() != authority.Present || w.sc.presence() != authority.Present:
		return either
	}
	return ends
}

func (t *familyTurn) deleteSet(a authority.API) {
	if t.was.sets(a).presence() != authority.Present {
		return
	}
	for _, policy := range []struct {
		bit  member
		name string
	}{{0, ""}, {foreground, ", in the foreground"}, {orphans, ", leaving orphans"}} {
		t.may(user, "somebody deletes "+a.Text()+"'s MachineSet"+policy.name, func(w *family) {
			*w.sets(a) |= going | policy.bit
			for i := range w.machines {
				k := &w.machines[i]
				k.ends = t.meant(w, i, a, policy.bit)
				if w.namespaceDeleted && k.ends == ends && k.authoritative() == authority.MachineAPI {
					k.ends = either
				}
			}
		})
	}
}

// meant returns what the deletion of a set means for a Machine. All that the authoritative set owns ends with it, unless orphans are to be left. If the set is
// a mirror and is deleted in the foreground, the collector deletes at once what the mirror owns. So Machines for which the mirror's API is authoritative may
// end before anybody can prevent it.
func (t *familyTurn) meant(w *family, i int, on authority.API, policy member) end {
	k := &w.machines[i]
	switch {
	case k.on(on).has(here|mine) && (w.course.step.Action == authority.Switch && !w.course.step.Cancelled ||
		w.namespaceDeleted && w.course.current == authority.Migrating):
		return either // authority may move to the set that is being deleted
	case k.ends == ends && k.on(k.authoritative()).presence() == authority.Present && (policy == orphans || !t.setEnds(on) || !k.on(on).has(mine)):
		return either // the Machine was deleted, and nobody can say any more whether the deletion of its mirror is the collector's
	case k.ends == ends || !k.on(on).has(here|mine):
		return k.ends
	case !w.sets(on).has(synch):
		return either // the mirror has not seen this set yet, and cannot detach anything from it
	case w.sets(on.Other()).has(going):
		return either
	case policy == orphans && t.setEnds(on) && on == authority.ClusterAPI:
		return either // Cluster API's own controller may be faster than the collector that makes orphans
	case policy != orphans && t.setEnds(on):
		return ends
	case policy == foreground && k.authoritative() == on:
		return either
	}
	return k.ends
}
