// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/poundlock/poundlock/policies/authority"
)

// setsClusterAPISet is Cluster API's controller of MachineSets. It does what a pass has decided on even if the set is paused meanwhile, and acknowledges the
// pause only after that.
type setsClusterAPISet struct{}

// Moves implements actor.
func (setsClusterAPISet) Moves(t *setTurn) {
	w := &t.was
	if !w.c.here {
		return
	}
	switch n := w.number(authority.ClusterAPI); {
	case w.creating:
		t.creates(authority.ClusterAPI)
	case w.deleting:
		t.do(controller, "Cluster API's set deletes a Machine", func(w *setPair) { w.delete(authority.ClusterAPI); w.deleting = false })
	case w.pauseRequested && w.c.acknowledged != authority.AcknowledgedPaused:
		t.do(controller, "Cluster API's set controller acknowledges its pause", func(w *setPair) { w.c.acknowledged = authority.AcknowledgedPaused })
	case w.pauseRequested:
	case w.c.acknowledged != authority.AcknowledgedUnpaused || !w.finalizer:
		t.do(controller, "Cluster API's set controller acknowledges that it acts",
			func(w *setPair) { w.c.acknowledged, w.finalizer = authority.AcknowledgedUnpaused, true })
	case n < w.c.replicas && w.room():
		t.do(controller, "Cluster API's set controller decides to create a Machine", func(w *setPair) { w.judge(authority.ClusterAPI); w.creating = true })
	case slices.ContainsFunc(w.machines[:], func(k machinePair) bool { return k.marked && counts(k.c) }):
		t.do(controller, "Cluster API's set deletes a Machine by its mark", (*setPair).deleteMarked)
	case n > w.c.replicas:
		t.do(controller, "Cluster API's set controller decides to delete a Machine", func(w *setPair) { w.judge(authority.ClusterAPI); w.deleting = true })
	}
}

func (w *setPair) deleteMarked() {
	for i := range w.machines {
		if k := &w.machines[i]; k.marked && counts(k.c) {
			if k.c |= going; k.stale {
				w.excess = deletedByMark
			}
			return
		}
	}
}
