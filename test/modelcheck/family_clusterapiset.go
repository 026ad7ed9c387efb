// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// familyClusterAPISet is Cluster API's controller of MachineSets. It acts on a set that is not paused.
type familyClusterAPISet struct{}

// Moves implements actor.
func (familyClusterAPISet) Moves(t *familyTurn) {
	if !t.was.sc.has(here) || t.acknowledgesC() || t.was.course.c != authority.AcknowledgedUnpaused {
		return
	}
	t.scale(authority.ClusterAPI)
	if t.was.sc.has(going | holds) {
		t.endSet()
	}
}

// endSet emits the end of a MachineSet that is being deleted: its controller deletes its Machines first, and waits until they are gone.
func (t *familyTurn) endSet() {
	left := false
	for i := range t.was.machines {
		c := t.was.machines[i].c
		left = left || c.has(here|mine)
		if c.has(here|mine) && !c.has(going) {
			t.may(controller, fmt.Sprintf("Cluster API's controller deletes Machine %d of the MachineSet that is being deleted",
				i+1), func(w *family) { w.machines[i].c |= going })
		}
	}
	if !left {
		t.may(controller, "Cluster API's controller takes its finalizer off the MachineSet", func(w *family) { w.sc &^= holds })
	}
}
