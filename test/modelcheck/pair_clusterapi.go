// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// clusterAPI is a controller of Cluster API's, or of a provider's. All of them read a cache, put a finalizer on their object even while it is paused, and
// acknowledge. Their writes carry no resourceVersion, and write a list of finalizers whole.
type clusterAPI struct {
	by    mover
	cache mover
	name  string
	on    which
	seen  func(*pair) *view
	show  func(*pair) object
}

// Moves implements actor.
func (c clusterAPI) Moves(t *turn) {
	switch w := &t.was; {
	case c.on == ofI && t.set, c.on == ofK && t.keeps == keepsNothing:
	case w.cloud&answer != 0 && (c.on == ofI && t.keeps == keepsNothing || c.on == ofK):
		t.remembers(c.on, c.by)
	default:
		t.reconciles(c)
	}
}

// remembers emits that the provider's controller stores the instance's ID after its call to the cloud, or dies. It does nothing else before.
func (t *turn) remembers(on which, by mover) {
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

func (t *turn) reconciles(c clusterAPI) {
	w := &t.was
	v, now := *c.seen(w), c.show(w)
	if v.next != 0 {
		t.may(c.cache, c.name+" sees a later version", func(n *pair) { *c.seen(n) = view{seen: v.next} })
	}
	if v.seen&^leftover != now {
		t.may(c.cache, c.name+" sees what is stored", func(n *pair) {
			*c.seen(n) = view{seen: now}
			if v.seen.has(leftover) && !now.has(pauseRequested) {
				c.seen(n).seen.set(leftover)
			}
		})
	}
	if !v.seen.has(there) || !w.at(c.on).has(there) {
		return
	}
	answer := acting
	if v.seen&(pauseRequested|stopped) != 0 {
		answer = paused
	}
	switch {
	case v.seen&(leaving|ctlFin) == 0 && !t.check:
		// A provider's controller that sees no owner does nothing. If it sees its own finalizer, that version is later than the owner.
		may := c.on == ofI && (!t.can(twice) || w.i&(owned|dangling) != 0) || c.on == ofC && t.holds(byHoldC, w) || c.on == ofK &&
			(t.keeps == keptByMirror || v.seen.mayAct())
		if may && !w.at(c.on).has(leaving) {
			t.may(c.by, c.name+" puts its finalizer on", func(n *pair) { t.finalizers(n, c, v.seen|ctlFin) })
		}
	default:
		if !v.seen.has(answer) && !v.seen.has(earlier) && !w.at(c.on).has(answer) && !(t.neverAcknowledges && c.on&(ofI|ofK) != 0) {
			t.may(c.by, c.name+" stores "+pausedText(answer), func(n *pair) { n.at(c.on).acknowledge(answer); n.wrote(c.on, c.by, false) })
		}
		// Cluster API's core controller also cleans up after a Machine from which somebody has taken its finalizer.
		if v.seen.mayAct() && (v.seen.has(ctlFin) || (t.can(strips) || t.can(ungates)) && c.on == ofC && (v.seen&w.c).has(leaving)) {
			t.acts(c, v.seen)
		}
	}
}

// finalizers writes the list of finalizers as a merge patch against the version that the controller saw.
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
		*c.seen(n) = view{} // the controller has done its work, and would find nothing more to do
	}
}

func (t *turn) acts(c clusterAPI, seen object) {
	switch {
	case c.on == ofC:
		t.coreActs(seen)
	case c.on == ofK:
		t.instanceActs(seen)
	case t.keeps != keepsNothing:
		t.keeperActs(seen)
	default:
		t.providerActs(seen)
	}
}
