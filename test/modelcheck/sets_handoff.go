// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// setsHandoff is the handoff. It reads the sets, then the Machines, and then writes the step that follows. Others may act between these three moments.
type setsHandoff struct{}

// Moves implements actor.
func (setsHandoff) Moves(t *setTurn) {
	w := &t.was
	if w.step == (setStep{}) {
		if t.waits() {
			return // its next pass would write nothing
		}
		t.do(handoff, t.reads(true), func(w *setPair) {
			w.step = setStep{reading: true, read: w.state(0)}
			if t.rules.countsBefore {
				w.step.read = authority.State{Uncounted: w.uncounted()}
			}
		})
		return
	}
	if w.step.reading {
		t.do(handoff, t.reads(false), func(w *setPair) {
			s, late := w.step.read, w.step
			if t.rules.countsBefore {
				s, late = w.state(s.Uncounted), setStep{}
			} else {
				s.Uncounted, s.Judged = w.uncounted(), w.judged()
			}
			s.Judged = s.Judged && !t.forgetsMarks
			w.step = setStep{step: t.rules.next(s), lateM: late.lateM, lateC: late.lateC}
			w.step.step.Message = ""
			if !w.step.step.Action.Acts() {
				w.step = setStep{}
			}
		})
		return
	}
	t.do(handoff, "the handoff: "+words(w.step.step, w.step.lateM, w.step.lateC), func(w *setPair) {
		w.write(w.step)
		w.step = setStep{}
	})
	if t.can(crashes) {
		t.do(user, "the manager dies before it is written", func(w *setPair) { w.step = setStep{} })
	}
}

// reads returns the name of the first or the second read of a pass.
func (t *setTurn) reads(first bool) string {
	if first != t.rules.countsBefore {
		return "the handoff reads the sets"
	}
	return "the handoff lists their Machines"
}

// waits reports whether a pass that sees what is stored would write nothing.
func (t *setTurn) waits() bool {
	s := t.was.state(t.was.uncounted())
	s.Judged = s.Judged && !t.forgetsMarks
	return !t.rules.next(s).Action.Acts()
}

func words(s authority.Step, lateM, lateC bool) string {
	out := string(s.Action)
	if s.To != "" {
		out += " " + string(s.To)
	}
	if onMachineAPI(s) && lateM || onClusterAPI(s) && lateC {
		out += ", refused: somebody was faster"
	}
	return out
}

func onMachineAPI(s authority.Step) bool {
	return s.Action == authority.Acknowledge || s.Action == authority.Switch || s.Action == authority.Adopt
}

// onClusterAPI reports whether a step is written to the Cluster API object, too. The end of a move to Cluster API is announced to it.
func onClusterAPI(s authority.Step) bool {
	return !onMachineAPI(s) || s.Action == authority.Switch && s.To == authority.ClusterAPI && !s.Cancelled
}

// write applies a step, unless the object that it is written to has changed since it was read.
func (w *setPair) write(d setStep) {
	if onMachineAPI(d.step) && d.lateM || onClusterAPI(d.step) && d.lateC {
		return
	}
	switch d.step.Action {
	case authority.Acknowledge:
		w.current, w.origin = authority.Migrating, w.current
	case authority.Pause:
		w.pauseRequested = true
	case authority.Release:
		w.pauseRequested = false
	case authority.AddFinalizer:
		w.finalizer = true
	case authority.Switch:
		w.current, w.origin = d.step.To, d.step.To
		if !d.step.Cancelled {
			w.known, w.behind = false, true
		}
	case authority.Adopt, authority.Rest, authority.Wait, authority.Settle:
	}
}
