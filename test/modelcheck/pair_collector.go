// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// pairCollector is Kubernetes' garbage collector.
type pairCollector struct{}

// Moves implements actor.
func (pairCollector) Moves(t *turn) {
	w := &t.was
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
