// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// pairAbsence removes Poundlock for a while (kubectl poundlock cleanup). That terminates no move and removes no pause. In the model the marks stay on the
// objects: a mirror without a mark is recognized by who wrote its pause. The same stands for a Poundlock that dies, for a pair that it has not begun to mirror.
type pairAbsence struct{}

// Moves implements actor.
func (pairAbsence) Moves(t *turn) {
	switch w := &t.was; {
	case !t.can(aways):
	case w.away:
		t.may(installer, "Poundlock is installed again", func(n *pair) { n.away = false })
		t.deletesAlone()
	case w.m.status() != authority.Migrating && (w.m|w.c|w.i|w.k)&leaving == 0:
		t.might("Poundlock is removed", func(n *pair) {
			n.away = true
			n.handoff, n.mirror, n.former = pass{}, pass{}, pass{}
			for _, o := range []which{ofM, ofC} {
				was := *n.at(o)
				n.at(o).clear(syncFin | compared)
				if o == ofM && was.status().Other() != authority.Unset {
					n.m.clear(wants) // a request to move that has not begun is taken back
					n.m.set(map[authority.API]object{authority.ClusterAPI: wants}[was.status()])
				}
				n.changed(o, was, installer, false)
			}
		})
	}
}

// deletesAlone emits that somebody deletes the Cluster API object that is authoritative, while Poundlock is away. Cluster API's controllers then delete what
// belongs to it. An object that is still paused and has no instance may be created again, because the Machine API object asks for it.
func (t *turn) deletesAlone() {
	w := &t.was
	if w.m.authoritative() != authority.ClusterAPI || !w.m.has(there) || w.c.presence() != authority.Present {
		return
	}
	t.might("somebody deletes the Cluster API object", func(n *pair) {
		if began := w.cloud.runs() || !w.c.has(pauseRequested); began && w.m.status() == authority.ClusterAPI && w.will == 0 {
			n.will |= deletionExpected | deletedAway
		} else {
			n.will |= maybe
		}
		n.remove(ofC, user)
	})
}
