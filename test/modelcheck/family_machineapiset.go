// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/poundlock/poundlock/policies/authority"
)

// familyMachineAPISet is the Machine API's controller of MachineSets. While the feature gate is off, it does not look at which API is authoritative, and
// deletes Machines if it has too many. (Admission refuses those that it would create.) How many are too many depends on the replicas that it last saw.
type familyMachineAPISet struct{}

// Moves implements actor.
func (familyMachineAPISet) Moves(t *familyTurn) {
	w := &t.was
	if t.acknowledgesM() {
		return
	}
	if w.sm.has(here) && w.course.current == authority.MachineAPI {
		t.scale(authority.MachineAPI)
	}
	if w.gate == gateOn {
		return
	}
	for i, k := range w.machines {
		if w.course.current == authority.ClusterAPI && k.clusters && k.m.has(here|mine) && !k.m.has(going) {
			t.may(user, fmt.Sprintf("Machine API's set, which looks at no authority, deletes its object of Machine %d", i+1),
				func(w *family) { w.machines[i].m |= going })
		}
	}
}

// scale keeps the authoritative set at its number of Machines. It deletes one of them, whichever API is authoritative for that Machine, or creates one. In
// walks in which it stays alone it creates none. There it must not even want to, unless a Machine was to end.
func (t *familyTurn) scale(a authority.API) {
	if t.was.sets(a).presence() != authority.Present {
		return
	}
	n, free, last := 0, -1, -1
	for i := range t.was.machines {
		switch k := t.was.machines[i].on(a); {
		case k.has(here|mine) && !k.has(going):
			n, last = n+1, i
		case t.was.machines[i] == ownedMachine{}:
			free = i
		}
	}
	switch {
	case n > int(t.was.replicas):
		t.may(controller, fmt.Sprintf("the MachineSet's controller scales down and deletes Machine %d", last+1), func(w *family) {
			w.machines[last].ends = ends
			*w.machines[last].on(a) |= going
		})
	case n < int(t.was.replicas) && t.was.namespaceDeleted && a == authority.ClusterAPI: // nothing is created in a namespace that is being deleted
	case n < int(t.was.replicas) && t.alone():
		if slices.ContainsFunc(t.was.machines[:], func(k ownedMachine) bool { return k.runs && k.ends == stays && !k.freed }) {
			t.may(controller, "the MachineSet's controller makes a Machine in the place of one that there is", func(w *family) { w.inPlace = true })
		}
	case n < int(t.was.replicas) && free >= 0:
		t.may(controller, fmt.Sprintf("the MachineSet's controller makes Machine %d", free+1), func(w *family) {
			w.machines[free].clusters = a == authority.ClusterAPI || t.machine == authority.ClusterAPI
			*w.machines[free].on(a) = here | mine
		})
	}
}
