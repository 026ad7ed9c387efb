// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// pairPerson is a person who types commands at any time, as often as they like. Only those happen that admission allows.
type pairPerson struct{}

// Moves implements actor.
func (pairPerson) Moves(t *turn) {
	w := &t.was
	if t.can(flips) && w.m.has(there) && t.allows(byFlip, w) {
		t.might("somebody asks for "+w.m.requested().Other().Text(), func(n *pair) {
			n.m ^= wants
			n.c.clear(announced)
			n.wrote(ofM, user, true)
		})
	}
	if t.can(edits) {
		t.userEdits()
	}
	if t.can(labels) {
		t.lastWords()
	}
	if t.can(deletes) {
		t.userDeletes()
	}
	if t.can(strips) && w.source() == authority.ClusterAPI && w.m.has(there|syncFin) && w.c.has(leaving|ctlFin|syncFin) && w.i.has(there|pid) {
		t.might("somebody takes its controller's finalizer off the Cluster API object", func(n *pair) {
			n.c.clear(ctlFin)
			n.wrote(ofC, user, false)
		})
	}
	if t.can(vanishes) && w.m.has(there) && !w.m.has(emptied) && !w.unknownToProvider() {
		t.might("somebody deletes the Cluster API namespace", func(n *pair) {
			n.m.set(emptied)
			if w.source() != authority.MachineAPI || w.handoff.phase == writing {
				n.will |= maybe // Cluster API's objects are deleted with it, and perhaps what the handoff looked at a moment before
			}
		})
	}
	if t.can(recreates) && !w.away {
		t.userCreates()
	}
	if t.can(twice) {
		t.userCreatesTwice()
		t.userPauses()
	}
	if t.can(decides) {
		t.userDecides()
	}
	if t.can(halts) {
		t.might("somebody sets Cluster.spec.paused, or takes it back", func(n *pair) { n.halted = !n.halted })
	}
}

// unknownToProvider reports whether the provider does not know the instance yet. Only Poundlock's hook, or a pause, then keeps Cluster API from deleting the
// provider's objects and leaving the instance behind. Neither stops the namespace controller.
func (w *pair) unknownToProvider() bool {
	known := !w.c.has(there|hooked) && !(w.k.has(there|pauseRequested) && !w.k.has(ctlFin))
	return !known && (w.source() != authority.MachineAPI || w.m.status() == authority.Migrating || w.handoff.phase == writing)
}

// userDecides emits a person's decision that there is no instance, when a condition asks for a decision. The answer may be wrong a moment later, unless the
// source has paused.
func (t *turn) userDecides() {
	w := &t.was
	if w.m.has(decided) || w.cloud.runs() {
		return
	}
	if step := t.next(t.state(w.m, w.c, w.i, w.k, w.m.has(caught))); step.Reason == authority.ReasonInstanceUnknown {
		t.might("somebody decides that there is no instance", func(n *pair) { n.m.set(decided); n.wrote(ofM, user, false) })
	}
}

func (t *turn) userEdits() {
	w := &t.was
	if w.m.has(there) && !w.m.has(leaving) && t.allows(byEditM, w) {
		t.might("somebody edits the Machine API object", func(n *pair) {
			if n.m.authoritative() == authority.ClusterAPI && n.c.has(there) {
				n.m.clear(fresh)
			} else {
				n.c.clear(fresh)
			}
			n.edit(ofM)
		})
	}
	if w.c.has(there) && !w.c.has(leaving) && t.allows(byEditC, w) {
		t.might("somebody edits the Cluster API object", func(n *pair) {
			n.m.clear(fresh)
			n.edit(ofC)
		})
	}
}

// lastWords emits a write of a label to the source's object, by its controller while it acts, or by a person. The label must reach the target, although no
// generation shows it.
func (t *turn) lastWords() {
	w := &t.was
	switch src := w.source(); {
	case src == authority.MachineAPI && w.m.presence() == authority.Present && (w.work != noWork && !w.behind || w.work == noWork && t.gate(w.m).act):
		t.might("a label is written to the Machine API object", func(n *pair) { n.label(ofM); n.c.clear(fresh) })
	case src == authority.ClusterAPI && w.c.presence() == authority.Present && w.core.seen.mayAct():
		t.might("a label is written to the Cluster API object", func(n *pair) { n.label(ofC); n.m.clear(fresh) })
	}
}

func (w *pair) label(o which) {
	w.at(o).set(fresh)
	w.m.clear(compared)
	w.outdatePasses(o)
	w.wrote(o, user, false)
}

func (w *pair) edit(o which) {
	w.outdatePasses(o)
	w.wrote(o, user, true)
}

// outdatePasses marks the object o as edited in every pass under way, since the pass has read it.
func (w *pair) outdatePasses(o which) {
	for _, p := range []*pass{&w.handoff, &w.mirror, &w.former} {
		if p.phase != idle {
			p.edited |= o
		}
	}
}

// userDeletes emits a person's deletions. What a deletion is meant to end is judged by converting › Summary of the rules, and not by how Poundlock decides.
func (t *turn) userDeletes() {
	w := &t.was
	if w.m.has(there) && !w.m.has(leaving) {
		t.might("somebody deletes the Machine API object", func(n *pair) {
			n.will |= t.means(w, authority.MachineAPI)
			n.remove(ofM, user)
		})
	}
	if !w.c.has(there) || w.c.has(leaving) || w.c.has(announced) && w.m.has(there) && w.m.status() != authority.ClusterAPI {
		return // authority.DeleteArriving
	}
	for _, policy := range []struct {
		bits object
		name string
	}{{0, ""}, {fg, ", in the foreground"}, {orph, ", leaving orphans"}} {
		if policy.bits == fg && !t.letsForeground && !t.allows(byForeground, w) {
			continue
		}
		t.might("somebody deletes the Cluster API object"+policy.name, func(n *pair) {
			n.will |= t.means(w, authority.ClusterAPI)
			n.c.set(policy.bits)
			n.remove(ofC, user)
		})
	}
}

// means returns what a deletion on a side asks for: deletionExpected is the end of the instance, maybe something that may be understood so, 0 neither.
func (t *turn) means(w *pair, on authority.API) will {
	shape := authority.Shape{Requested: w.m.requested(), Current: w.m.status(), SynchronizedAPI: w.m.origin()}
	switch authoritative := authority.Authoritative(shape); {
	case !w.m.has(there):
		return deletionExpected
	case t.can(twice) && t.strange(w.m, w.c, w.i):
		if on == authority.MachineAPI && w.cloud&byM == 0 && w.m&(ctlFin|syncFin) == 0 || on == authority.ClusterAPI && w.cloud&byC == 0 && !w.c.has(ctlFin) {
			return 0 // this object has no part in what the other API runs
		}
		return maybe
	case on == authority.ClusterAPI && w.source() == authority.MachineAPI && t.family == (authority.Parent{}) && (w.m & w.c).has(syncFin):
		return 0 // a move that is asked for or under way is cancelled
	case w.m.status() != w.m.requested() || !w.m.has(syncFin) || w.c.has(there) && !w.c.has(syncFin):
		return maybe // the deletion meets a move, or the creation of the pair: the faster one prevails
	case authoritative == on:
		return deletionExpected
	case t.family != (authority.Parent{}) && w.m.has(syncFin):
		return deletionExpected // "Delete, has mirror, has owner: Sync controller deletes …"
	}
	return 0
}

func (t *turn) userCreates() {
	w := &t.was
	if !w.m.has(there) && w.c.has(there) && w.will == 0 {
		for _, to := range []object{0, wants} {
			made := there | to
			if t.allowsMade(made, w) {
				t.might("somebody creates the Machine API object, asking for "+made.requested().Text(), func(n *pair) {
					n.m = made
					n.wrote(ofM, user, true)
				})
			}
		}
	}
	if w.m.has(there) && !w.c.has(there) && w.m.authoritative() != authority.ClusterAPI && w.will == 0 {
		for _, made := range []object{there, there | pauseRequested | theirs} {
			if t.allowsMadeC(made, w) {
				t.might("somebody creates a Cluster API object"+map[object]string{there: "", there | pauseRequested | theirs: ", paused"}[made], func(n *pair) {
					n.c = made
					n.m.clear(caught) // the mirror has not compared this object (authority.Edition)
					n.wrote(ofC, user, true)
				})
			}
		}
	}
}

// userCreatesTwice emits the second of two creations in both APIs that were reviewed before either was stored.
func (t *turn) userCreatesTwice() {
	w := &t.was
	switch {
	case w.will != 0:
	case w.m.has(there) && !w.c.has(there):
		t.might("the Cluster API objects, created at the same time, are stored", func(n *pair) {
			n.c = there
			n.i.set(there)
			n.wrote(ofC, user, true)
			n.wrote(ofI, user, true)
		})
	case !w.m.has(there) && w.c.has(there):
		t.might("the Machine API object, created at the same time, is stored", func(n *pair) {
			n.m = there | fresh
			n.c.clear(fresh)
			n.wrote(ofM, user, true)
		})
	}
}

// userPauses emits the changes in which a person pauses or releases one of Cluster API's objects, as far as admission allows. If a Machine was created in both
// APIs at once, Cluster API's becomes the mirror when both its objects are paused, one after the other.
func (t *turn) userPauses() {
	for _, o := range []struct {
		which
		name   string
		resume question
	}{{ofC, "Cluster API object", byResumeC}, {ofI, "provider's object", byResumeI}} {
		switch at := *t.was.at(o.which); {
		case !at.has(there) || at.has(mark):
		case at&(pauseRequested|leaving) == 0:
			t.might("somebody pauses the "+o.name, func(n *pair) { n.at(o.which).set(pauseRequested | theirs); n.wrote(o.which, user, false) })
		case t.allows(o.resume, &t.was):
			t.might("somebody releases the "+o.name, func(n *pair) { n.at(o.which).clear(pauseRequested | theirs); n.wrote(o.which, user, false) })
		}
	}
}
