// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// setsHealthCheck is a MachineHealthCheck of Cluster API's, which looks at Cluster API's Machines, whichever API's set owns them. A person deletes it, and the
// Machines that it has marked stay marked. The set that acts may delete a marked Machine before anybody else acts. Such a deletion has nothing to do with a
// move.
type setsHealthCheck struct{}

// Moves implements actor.
func (setsHealthCheck) Moves(t *setTurn) {
	w := &t.was
	if !t.can(remediates) || !w.c.here {
		return
	}
	if !w.checked {
		t.do(user, "somebody creates a check of Cluster API's", func(w *setPair) {
			w.checked = true
			for i := range w.machines {
				w.machines[i].stale = false
			}
		})
		return
	}
	t.do(user, "somebody deletes Cluster API's check", func(w *setPair) {
		w.checked = false
		for i := range w.machines {
			w.machines[i].stale = w.machines[i].marked && w.pauseRequested && w.step == (setStep{})
		}
	})
	for i, k := range w.machines {
		switch {
		case k.marked:
			t.do(user, "a Node recovers, and the check takes its mark off the Machine", func(w *setPair) { w.machines[i].marked, w.machines[i].stale = false, false })
		case counts(k.c) && counts(k.m):
			t.do(user, "a check of Cluster API's marks a Machine", func(w *setPair) { w.machines[i].marked = true })
		}
	}
}
