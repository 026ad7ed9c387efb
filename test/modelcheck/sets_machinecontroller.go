// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// setsMachineController is either API's controller of Machines. Only one thing matters in this model: it removes a Machine that is being deleted on both sides,
// or on the only side that has it.
type setsMachineController struct{}

// Moves implements actor.
func (setsMachineController) Moves(t *setTurn) {
	for i, k := range t.was.machines {
		if k.m|k.c != 0 && (k.m == 0 || k.m.has(going)) && (k.c == 0 || k.c.has(going)) {
			t.do(machines, "a Machine that was deleted is gone", func(w *setPair) { w.machines[i] = machinePair{} })
		}
	}
}
