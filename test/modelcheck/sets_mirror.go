// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// setsMirror is the mirror. It creates and updates the mirror of the set, and of each Machine.
type setsMirror struct{}

// Moves implements actor.
func (setsMirror) Moves(t *setTurn) {
	w := &t.was
	from := w.source()
	switch to := from.Other(); {
	case !w.c.here:
		t.do(mirror, "the mirror makes Cluster API's set", func(w *setPair) {
			w.c, w.pauseRequested, w.behind, w.known = setSide{here: true, replicas: w.m.replicas}, true, false, true
		})
	case w.behind || !w.known:
		t.do(mirror, "the mirror makes "+to.Text()+"'s set equal", func(w *setPair) {
			w.set(to).replicas, w.behind, w.known = w.set(from).replicas, false, true
		})
	}
	for i, k := range w.machines {
		t.mirrorMachine(i, k)
	}
}

func (t *setTurn) mirrorMachine(i int, k machinePair) {
	w := &t.was
	if k.marked && !w.checked && w.pauseRequested {
		t.do(mirror, "the mirror takes the mark off a Machine at which no check looks", func(w *setPair) { w.machines[i].marked, w.machines[i].stale = false, false })
	}
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		on, other, twin := k.on(a), k.on(a.Other()), a.Other()
		// Cluster API's Machines get a mirror only if Cluster API is authoritative for their set.
		reflected := a == authority.MachineAPI || w.source() == authority.ClusterAPI
		switch {
		case on.has(here|going) && other.has(here) && !other.has(going):
			t.do(mirror, "the mirror carries the deletion of a Machine to "+twin.Text(), func(w *setPair) { *w.machines[i].at(twin) |= going })
		case on.has(here) && !on.has(going) && !other.has(here) && !k.refused && reflected:
			t.do(mirror, "the mirror makes the "+twin.Text()+" object of a Machine", func(w *setPair) {
				*w.machines[i].at(twin) = here
				if w.set(twin).here && on.has(mine) {
					*w.machines[i].at(twin) |= mine
				}
			})
		case counts(on) && other.has(here) && !other.has(mine) && w.set(twin).here && !t.forgetsOwner:
			t.do(mirror, "the mirror makes the set the owner of the "+twin.Text()+" object of a Machine", func(w *setPair) { *w.machines[i].at(twin) |= mine })
		}
	}
}
