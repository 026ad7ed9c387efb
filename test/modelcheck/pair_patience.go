// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// pairPatience lets half a minute pass after a pause was requested of a provider that never acknowledges. It assumes that the provider's former work is over by
// then, and that its cache shows the pause. Until then the provider may act on what it saw before.
type pairPatience struct{}

// Moves implements actor.
func (pairPatience) Moves(t *turn) {
	w := &t.was
	heeds := func(o object, v view) bool {
		return t.neverAcknowledges && o.has(pauseRequested) && !o.has(pauseSeen) && v.seen.has(pauseRequested) && (v.next == 0 || v.next.has(pauseRequested))
	}
	if heeds(w.i, w.infra) && (w.cloud&answer == 0 || t.keeps != keepsNothing) {
		t.may(clock, "the provider's object has been paused for half a minute", func(n *pair) { n.i.set(pauseSeen) })
	}
	if heeds(w.k, w.instance) && w.cloud&answer == 0 {
		t.may(clock, "what is kept for the instance has been paused for half a minute", func(n *pair) { n.k.set(pauseSeen) })
	}
}
