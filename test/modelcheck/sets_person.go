// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// setsPerson is people who request a move or take that back, scale a set if admission allows it, and fix or delete Machines that do not convert.
type setsPerson struct{}

// Moves implements actor.
func (setsPerson) Moves(t *setTurn) {
	w := &t.was
	if t.can(flips) {
		t.do(user, "somebody asks for "+w.requested.Other().Text(), func(w *setPair) { w.requested = w.requested.Other() })
	}
	// A review may read that Cluster API is authoritative, and the update may be stored later. That ends when the set is paused, since its resourceVersion is then
	// another.
	if a := w.source(); t.can(edits) && (w.current == a || a == authority.ClusterAPI && !w.pauseRequested) && w.set(a).here {
		t.do(user, "somebody scales "+a.Text()+"'s set", func(w *setPair) {
			w.set(a).replicas, w.behind = (w.set(a).replicas+1)%mostMachines, true
		})
	}
	if t.can(deletes) && !w.creating && !w.deleting {
		t.deletesMirror()
	}
	for i, k := range w.machines {
		if k.refused && k.stays() {
			t.do(user, "somebody edits a Machine that does not convert", func(w *setPair) { w.machines[i].refused = false })
		}
	}
}

// deletesMirror emits the deletion of a set that is the mirror. Poundlock recreates Cluster API's mirror. The person who deleted the Machine API's mirror
// recreates it. A deletion waits until a move has settled.
func (t *setTurn) deletesMirror() {
	w := &t.was
	leaves := func(w *setPair, a authority.API) {
		for i := range w.machines {
			*w.machines[i].at(a) &^= mine
		}
	}
	switch {
	case w.current == authority.MachineAPI && w.c.here && w.pauseRequested && w.c.acknowledged == authority.AcknowledgedPaused:
		t.do(user, "somebody deletes Cluster API's set, which is the mirror", func(w *setPair) {
			w.c, w.pauseRequested, w.finalizer = setSide{}, false, false
			leaves(w, authority.ClusterAPI)
		})
	case w.current == authority.ClusterAPI && !w.pauseRequested && w.c.acknowledged == authority.AcknowledgedUnpaused &&
		w.m.acknowledged == authority.AcknowledgedPaused:
		t.do(user, "somebody deletes the Machine API's set, which is the mirror, and recreates it", func(w *setPair) {
			w.requested, w.known, w.behind = authority.ClusterAPI, false, true
			leaves(w, authority.MachineAPI)
		})
	}
}
