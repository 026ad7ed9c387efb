// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// gate is what authority.GateOf makes of a Machine API object.
type gate struct {
	// act: it may act, and has said so. adopts: it stores which API is authoritative. says is what it has yet to say, 0: nothing.
	act    bool
	adopts authority.API
	says   object
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
	switch told := g.AlreadyWritten(shape); {
	case told:
		out.act = g.Act
	case g.Paused.Status == metav1.ConditionTrue:
		out.says = paused
	case g.Paused.Status == metav1.ConditionFalse:
		out.says = acting
	}
	p.gates[m] = out
	return out
}

// conditionOf is the condition Paused as the gate wrote it when it last said the same. Its message names the authority that it was
// written for, so the model may tell one pause from another only by that: the stored one is taken to be of the present authority where it agrees.
func conditionOf(gateOf func(authority.Shape, bool) authority.Gate, m object) []authority.Condition {
	for _, current := range []authority.API{m.status(), authority.MachineAPI, authority.Migrating, authority.ClusterAPI} {
		c := gateOf(authority.Shape{Current: current, Requested: m.requested()}, true).Paused
		if m.has(paused) && c.Status == metav1.ConditionTrue || m.has(acting) && c.Status == metav1.ConditionFalse {
			return []authority.Condition{c}
		}
	}
	return nil
}

// machineAPI is machine/controller: it reads past all caches, asks the gate, and takes one step after the other; each of its writes
// carries the resourceVersion of what it read, its calls to the cloud carry nothing.
func (t *turn) machineAPI() {
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
		t.may(machineAPI, "Machine API's controller stores which API is authoritative", func(n *pair) { n.m.setStatus(g.adopts); n.wrote(ofM, machineAPI, false) })
	case g.says == paused && t.set && w.m.has(leaving):
		// A MachineSet that is being deleted never answers.
	case g.says != 0:
		t.may(machineAPI, "Machine API's controller says "+saying(g.says), func(n *pair) { n.m.say(g.says); n.wrote(ofM, machineAPI, false) })
	case g.act:
		t.machineAPIBegins()
	}
	if t.staleGate && !g.act && w.m.has(paused) && t.can(crashes) {
		t.might("Machine API's controller restarts, and a lagging API server still shows it the Machine as its own", func(n *pair) { n.work = toCreate })
	}
}

func saying(bit object) string {
	if bit == paused {
		return "Paused=True"
	}
	return "Paused=False"
}

func storesPid(n *pair) {
	n.m.set(pid)
	n.wrote(ofM, machineAPI, true)
}

// machineAPIBegins is what the pass will do for what it reads.
func (t *turn) machineAPIBegins() {
	m, to := t.was.m, toLook
	switch {
	case t.set:
	case m.has(leaving|ctlFin) && t.can(ungates) && !m.has(phaseDeleting):
		to = toTell
	case m.has(leaving | ctlFin):
		to = toDelete
	case m.has(leaving):
		return
	case !m.has(ctlFin):
		to = toHold
	case !m.has(pid):
		to = toCreate
	}
	refused := to == toHold && !t.holds(byHoldM, &t.was) // it tries again and again, which changes nothing
	t.tell(move{by: machineAPI, what: "Machine API's controller reads its object and begins to work", spontaneous: to == toLook || refused},
		func(n *pair) { n.work, n.behind = to, false })
}

func (t *turn) machineAPIWorks() {
	end := func(n *pair) { n.work, n.behind = noWork, false }
	// stored makes a locked write of the pass, and goes on if it was taken.
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
	case toTell:
		stored("Machine API's controller says that it deletes the Machine", toDelete, func(n *pair) { n.m.set(phaseDeleting); n.wrote(ofM, machineAPI, false) })
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
		t.might("Machine API's controller creates the instance and dies before it hears the answer", func(n *pair) { creates(n); end(n) })
	}
}

// terminate terminates the instance if the caller has its ID.
func (w *pair) terminate(known bool) {
	if !known || !w.cloud.runs() {
		return
	}
	w.cloud &^= byM | byC | answer
	if w.will == 0 {
		w.cloud |= endedUnasked
	}
}

// clusterAPI is what both of Cluster API's controllers do alike: they read a cache, hold their object even while they are paused, and answer. Their
// writes carry no resourceVersion, and a list of finalizers is written whole.
type clusterAPI struct {
	by    actor
	cache actor
	name  string
	on    which
	seen  func(*pair) *view
	show  func(*pair) object
}

var (
	coreController = clusterAPI{core, coreCache, "Cluster API's controller", ofC, func(w *pair) *view { return &w.core }, (*pair).showC}
	provider       = clusterAPI{infra, infraCache, "the provider's controller", ofI, func(w *pair) *view { return &w.infra }, (*pair).showI}
)

func (t *turn) core() { t.clusterAPI(coreController) }
func (t *turn) infra() {
	switch {
	case t.set:
	case t.was.cloud&answer != 0 && t.keeps == keepsNothing:
		t.remembers(ofI, infra)
	default:
		t.clusterAPI(provider)
	}
}

func (t *turn) clusterAPI(c clusterAPI) {
	w := &t.was
	v, now := *c.seen(w), c.show(w)
	if v.next != 0 {
		t.may(c.cache, c.name+" sees a later version", func(n *pair) { *c.seen(n) = view{seen: v.next} })
	}
	if v.seen&^leftover != now {
		t.may(c.cache, c.name+" sees what is stored", func(n *pair) {
			*c.seen(n) = view{seen: now}
			if v.seen.has(leftover) && !now.has(told) {
				c.seen(n).seen.set(leftover)
			}
		})
	}
	if !v.seen.has(there) || !w.at(c.on).has(there) {
		return
	}
	says := acting
	if v.seen&(told|stopped) != 0 {
		says = paused
	}
	switch {
	case v.seen&(leaving|ctlFin) == 0 && !t.check:
		// A provider's controller that sees no owner does nothing, and what it sees with its finalizer is later than the owner.
		may := c.on == ofI && (!t.can(twice) || w.i&(owned|dangling) != 0) || c.on == ofC && t.holds(byHoldC, w) || c.on == ofK &&
			(t.keeps == keptByMirror || v.seen.mayAct())
		if may && !w.at(c.on).has(leaving) {
			t.may(c.by, c.name+" puts its finalizer on", func(n *pair) { t.finalizers(n, c, v.seen|ctlFin) })
		}
	default:
		if !v.seen.has(says) && !v.seen.has(earlier) && !w.at(c.on).has(says) && !(t.neverAcknowledges && c.on&(ofI|ofK) != 0) {
			t.may(c.by, c.name+" says "+saying(says), func(n *pair) { n.at(c.on).say(says); n.wrote(c.on, c.by, false) })
		}
		// Cluster API's core controller cleans up also after a Machine from which somebody has taken its finalizer.
		if v.seen.mayAct() && (v.seen.has(ctlFin) || (t.can(strips) || t.can(ungates)) && c.on == ofC && (v.seen&w.c).has(leaving)) {
			t.acts(c, v.seen)
		}
	}
}

// finalizers writes the list as a merge patch against what was seen.
func (t *turn) finalizers(n *pair, c clusterAPI, list object) {
	o, was := n.at(c.on), *n.at(c.on)
	o.clear(ctlFin)
	o.set(list & ctlFin)
	if c.on == ofC && !o.has(leaving) || list&syncFin == 0 {
		o.clear(syncFin)
		o.set(list & syncFin)
	}
	n.changed(c.on, was, c.by, false)
	if list&(leaving|ctlFin) == leaving {
		*c.seen(n) = view{} // it has done its work, and would find nothing more to do
	}
}

func (t *turn) acts(c clusterAPI, seen object) {
	w := &t.was
	switch {
	case c.on == ofC:
		t.coreActs(seen)
	case c.on == ofK:
		t.instanceActs(seen)
	case t.keeps != keepsNothing:
		t.keeperActs(seen)

	case !w.c.has(there):
		// A provider's controller does nothing without the Machine that owns its object.
	case seen.has(leaving) && w.cloud.runs() && (w.cloud&byC != 0 || seen.has(pid)):
		t.may(infra, "the provider's controller ends the instance", func(n *pair) { n.terminate(true) })
	case seen.has(leaving):
		t.may(infra, "the provider's controller takes its finalizer off", func(n *pair) { t.finalizers(n, c, seen&^ctlFin) })
	case !seen.has(pid) && !w.i.has(pid):
		t.may(infra, "the provider's controller creates the instance", func(n *pair) { n.cloud |= byC | answer })
	}
}

func (t *turn) coreActs(seen object) {
	w := &t.was
	switch {
	case !seen.has(leaving):
		if !t.set && w.i.has(there) && !w.i.has(owned) && t.allows(byCore, w) {
			t.may(core, "Cluster API's controller makes itself the owner of the provider's object", func(n *pair) {
				n.i.clear(dangling)
				n.i.set(owned)
				n.wrote(ofI, core, false)
			})
		}
	case seen.has(hooked):
		// It waits before it deletes the provider's object.
	case !t.set && w.i.has(there):
		if !w.i.has(leaving) {
			t.may(core, "Cluster API's controller deletes the provider's object", func(n *pair) { n.remove(ofI, core) })
		}
	default:
		t.may(core, "Cluster API's controller takes its finalizer off", func(n *pair) { t.finalizers(n, coreController, seen&^ctlFin) })
	}
}

// remembers is the provider's controller between its call and what it stores of it: it does nothing else before.
func (t *turn) remembers(on which, by actor) {
	t.may(by, "the provider's controller stores the instance's ID", func(n *pair) {
		n.cloud &^= answer
		if n.at(on).has(there) {
			n.at(on).set(pid)
			n.wrote(on, by, true)
		}
	})
	if t.can(crashes) {
		t.might("the provider's controller dies before it stores the instance's ID", func(n *pair) { n.cloud &^= answer })
	}
}

// clock lets half a minute pass after a provider that never answers was told to pause. What it has begun before is over by then, and its cache shows the pause:
// that is the assumption, and it may act on what it saw before until the very end.
func (t *turn) clock() {
	w := &t.was
	heeds := func(o object, v view) bool {
		return t.neverAcknowledges && o.has(told) && !o.has(heard) && v.seen.has(told) && (v.next == 0 || v.next.has(told))
	}
	if heeds(w.i, w.infra) && (w.cloud&answer == 0 || t.keeps != keepsNothing) {
		t.may(clock, "the provider's object has been told for half a minute", func(n *pair) { n.i.set(heard) })
	}
	if heeds(w.k, w.instance) && w.cloud&answer == 0 {
		t.may(clock, "what is kept for the instance has been told for half a minute", func(n *pair) { n.k.set(heard) })
	}
}

// collector is Kubernetes' garbage collector.
func (t *turn) collector() {
	w := &t.was
	for _, o := range []struct {
		which
		name string
	}{{ofC, "Cluster API object"}, {ofI, "provider's object"}, {ofK, "object for the instance"}} {
		if at := w.at(o.which); w.m.has(emptied) && at.has(there) && !at.has(leaving) {
			t.may(collector, "the namespace controller deletes the "+o.name, func(n *pair) { n.remove(o.which, collector) })
		}
	}
	if w.i.has(there|dangling) && !w.i.has(leaving) && !w.i.has(owned) {
		t.may(collector, "the garbage collector deletes the provider's object", func(n *pair) { n.remove(ofI, collector) })
	}
	if w.k.has(there|dangling) && !w.k.has(leaving) && !w.k.has(owned) {
		t.may(collector, "the garbage collector deletes what is kept for the instance", func(n *pair) { n.remove(ofK, collector) })
	}
	if w.m.has(there|detached) && !w.m.has(leaving) {
		t.may(collector, "the garbage collector deletes the Machine API object, whose set is gone", func(n *pair) { n.remove(ofM, collector) })
	}
	if w.c.has(fg) && w.i.has(there|owned) && !w.i.has(leaving) {
		t.may(collector, "the garbage collector deletes the provider's object, in the foreground", func(n *pair) { n.remove(ofI, collector) })
	}
	if w.c.has(fg) && !w.i.has(there|owned) {
		t.may(collector, "the garbage collector is done with what the Cluster API object owned", func(n *pair) { n.c.clear(fg); n.wrote(ofC, collector, false) })
	}
	if w.c.has(orph) {
		t.may(collector, "the garbage collector makes an orphan of what the Cluster API object owned", func(n *pair) {
			n.i.clear(owned)
			n.c.clear(orph)
			n.wrote(ofI, collector, false)
			n.wrote(ofC, collector, false)
		})
	}
}
