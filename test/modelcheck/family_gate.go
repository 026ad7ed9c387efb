// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// familyGate is the person who turns the feature gate of the Machine API's controllers off for a while. When it is on again, nobody knows who requested which
// deletion.
type familyGate struct{}

// Moves implements actor.
func (familyGate) Moves(t *familyTurn) {
	w := &t.was
	switch {
	case !t.can(ungates):
		return
	case w.gate == gateOn:
		t.may(user, "somebody turns the feature gate off", func(w *family) {
			w.gate = gateOffUnseen
			for i := range w.machines {
				if k := &w.machines[i]; k.clusters && k.m.has(going) && k.ends == ends {
					k.ends = either // its deletion may not have been carried over yet
				}
			}
		})
	case w.gate == gateOffUnseen:
		t.may(gateOperator, "Poundlock sees that the feature gate is off, and stops", func(w *family) { w.gate, w.step = gateOff, decision{} })
	default:
		t.may(gateOperator, "the feature gate is turned on again", func(w *family) {
			w.gate = gateOn
			for i := range w.machines {
				if k := &w.machines[i]; k.m.has(going) {
					k.m |= asleep
				}
			}
		})
	}
}
