// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// familyMachineController is either API's controller of Machines. It acts on the Machines for which its API is authoritative.
type familyMachineController struct{}

// Moves implements actor.
func (familyMachineController) Moves(t *familyTurn) {
	for i := range t.was.machines {
		t.machineController(i)
	}
}

func (t *familyTurn) machineController(i int) {
	k := t.was.machines[i]
	acts := k.authoritative()
	o := *k.on(acts)
	switch {
	case o.presence() == authority.Present && !o.has(holds):
		t.may(controller, fmt.Sprintf("%s's controller puts its finalizer on Machine %d", acts.Text(), i+1),
			func(w *family) { *w.machines[i].on(acts) |= holds })
	case o.presence() == authority.Present && !k.runs:
		t.may(controller, fmt.Sprintf("%s's controller creates the instance of Machine %d", acts.Text(), i+1), func(w *family) { w.machines[i].runs = true })
	case acts == authority.ClusterAPI && o.has(going|once):
		// Cluster API never terminates a Machine whose MachineSet it does not find.
	case o.has(going | holds):
		t.may(controller, fmt.Sprintf("%s's controller ends the instance of Machine %d", acts.Text(), i+1), func(w *family) {
			n := &w.machines[i]
			n.endedUnasked = n.runs && n.ends == stays
			n.runs = false
			*n.on(acts) &^= holds
		})
	}
}
