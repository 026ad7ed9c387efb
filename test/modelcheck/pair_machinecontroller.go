// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// gate is what authority.GateOf decides for a Machine API object.
type gate struct {
	// act: the controller may act, and has reported that. adopts: the API that the controller stores as authoritative. pending: the condition Paused that it has
	// yet to store; 0: none.
	act     bool
	adopts  authority.API
	pending object
}

func (p *pairs) gate(m object) gate {
	m &= acting | paused | wants | 3*statusBit
	if g, ok := p.gates[m]; ok {
		return g
	}
	shape := authority.Shape{Requested: m.requested(), Current: m.status()}
	g := p.rules.gate(shape, true)
	shape.Conditions = conditionOf(p.rules.gate, m)
	out := gate{adopts: g.Adopt}
	switch written := g.AlreadyWritten(shape); {
	case written:
		out.act = g.Act
	case g.Paused.Status == metav1.ConditionTrue:
		out.pending = paused
	case g.Paused.Status == metav1.ConditionFalse:
		out.pending = acting
	}
	p.gates[m] = out
	return out
}

// conditionOf returns the condition Paused as the gate last wrote it with the stored status. The condition's message names the authority that it was written
// for, which the model does not store. If the gate would now write the stored status, the model assumes that the condition is of the present authority.
func conditionOf(gateOf func(authority.Shape, bool) authority.Gate, m object) []authority.Condition {
	for _, current := range []authority.API{m.status(), authority.MachineAPI, authority.Migrating, authority.ClusterAPI} {
		c := gateOf(authority.Shape{Current: current, Requested: m.requested()}, true).Paused
		if m.has(paused) && c.Status == metav1.ConditionTrue || m.has(acting) && c.Status == metav1.ConditionFalse {
			return []authority.Condition{c}
		}
	}
	return nil
}

// pairMachineController is machine/controller, or the Machine API's controller of MachineSets or MachineHealthChecks. It reads past all caches, asks the gate,
// and takes one step after the other. Each of its writes carries the resourceVersion of what it read. Its calls to the cloud carry no such lock.
type pairMachineController struct{}

// Moves implements actor.
func (pairMachineController) Moves(t *turn) {
	w := &t.was
	if w.work != noWork {
		t.machineAPIWorks()
		return
	}
	if !w.m.has(there) {
		return
	}
	g := t.gate(w.m)
	if t.can(ungates) && w.m.has(paused) && !w.m.has(ungated) {
		t.might("Machine API's controller restarts with its feature gate off", func(n *pair) { n.m.set(ungated) })
	}
	switch {
	case w.m.has(ungated):
		if w.m.has(leaving | ctlFin) {
			t.machineAPIBegins()
		}
	case g.adopts != authority.Unset:
		t.may(machineAPI, "Machine API's controller stores which API is authoritative", func(n *pair) {
			n.m.setStatus(g.adopts)
			switch {
			case !w.c.has(there):
			case w.away:
				n.will |= maybe // no part of Poundlock has seen Cluster API's object
			case !t.forgetsReviewed:
				n.m.set(recorded)
			}
			n.wrote(ofM, machineAPI, false)
		})
	case g.pending == paused && t.set && w.m.has(leaving):
		// A MachineSet that is being deleted never answers.
	case g.pending != 0:
		t.may(machineAPI, "Machine API's controller stores "+pausedText(g.pending), func(n *pair) { n.m.acknowledge(g.pending); n.wrote(ofM, machineAPI, false) })
	case g.act:
		t.machineAPIBegins()
	}
	if t.staleGate && !g.act && w.m.has(paused) && t.can(crashes) {
		t.might("Machine API's controller restarts, and a lagging API server still shows it the Machine as its own", func(n *pair) { n.work = toCreate })
	}
}

func pausedText(bit object) string {
	if bit == paused {
		return "Paused=True"
	}
	return "Paused=False"
}

func storesPid(n *pair) {
	n.m.set(pid)
	n.wrote(ofM, machineAPI, true)
}

// machineAPIBegins emits the beginning of a pass, with the work that the controller decides on by what it reads.
func (t *turn) machineAPIBegins() {
	m, to := t.was.m, toLook
	switch {
	case t.set:
	case m.has(leaving|ctlFin) && t.can(ungates) && !m.has(phaseDeleting):
		to = toStorePhase
	case m.has(leaving | ctlFin):
		to = toDelete
	case m.has(leaving):
		return
	case !m.has(ctlFin):
		to = toHold
	case !m.has(pid):
		to = toCreate
	}
	refused := to == toHold && !t.holds(byHoldM, &t.was) // the controller tries again and again, which changes nothing
	t.emit(move{by: machineAPI, what: "Machine API's controller reads its object and begins to work", spontaneous: to == toLook || refused},
		func(n *pair) { n.work, n.behind = to, false })
}

func (t *turn) machineAPIWorks() {
	end := func(n *pair) { n.work, n.behind = noWork, false }
	// stored emits a write of the pass with a lock. If the API server accepts the write, the pass goes on with then, else the pass ends.
	stored := func(what string, then work, change func(*pair)) {
		t.may(machineAPI, what, func(n *pair) {
			if n.behind || !n.m.has(there) {
				end(n)
				return
			}
			change(n)
			n.work = then
		})
	}
	creates := func(n *pair) {
		n.cloud |= byM
		n.work = toStore
	}
	switch t.was.work {
	case toHold:
		if !t.holds(byHoldM, &t.was) {
			t.may(machineAPI, "Machine API's controller is refused its finalizer", end)
			break
		}
		stored("Machine API's controller puts its finalizer on the Machine", noWork, func(n *pair) { n.m.set(ctlFin); n.wrote(ofM, machineAPI, false) })
	case toCreate:
		t.may(machineAPI, "Machine API's controller creates the instance", creates)
	case toStore:
		stored("Machine API's controller stores the instance's ID", noWork, storesPid)
	case toLook:
		t.may(machineAPI, "Machine API's controller ends its pass", end)
	case toStorePhase:
		stored("Machine API's controller stores the phase Deleting", toDelete, func(n *pair) { n.m.set(phaseDeleting); n.wrote(ofM, machineAPI, false) })
	case toDelete:
		t.may(machineAPI, "Machine API's controller deletes the instance", func(n *pair) {
			n.terminate(n.cloud&byM != 0 || n.m.has(pid))
			n.work = toRelease
		})
	case toRelease:
		stored("Machine API's controller takes its finalizer off", noWork, func(n *pair) {
			if t.can(ungates) && n.m.status() == authority.Migrating && n.m.origin() == authority.ClusterAPI {
				n.will |= endedOnItsWayBack
			}
			n.m.clear(ctlFin)
			n.wrote(ofM, machineAPI, false)
		})
	}
	if !t.can(crashes) {
		return
	}
	t.might("Machine API's controller dies in the middle of a pass", end)
	if t.was.work == toCreate {
		t.might("Machine API's controller creates the instance and dies before it reads the answer", func(n *pair) { creates(n); end(n) })
	}
}

// terminate terminates the instance, if the caller knows its ID.
func (w *pair) terminate(known bool) {
	if !known || !w.cloud.runs() {
		return
	}
	w.cloud &^= byM | byC | answer
	if w.will == 0 {
		w.cloud |= endedUnasked
	}
}
