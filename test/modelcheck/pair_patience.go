// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// pairPatience lets half a minute pass after a provider that never answers was told to pause. What it has begun before is over by then,
// and its cache shows the pause: that is the assumption, and it may act on what it saw before until the very end.
type pairPatience struct{}

// Moves implements actor.
func (pairPatience) Moves(t *turn) {
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
