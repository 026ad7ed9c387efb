// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// pairNamespaceController deletes what is in a namespace that is being deleted, in any order.
type pairNamespaceController struct{}

// Moves implements actor.
func (pairNamespaceController) Moves(t *turn) {
	w := &t.was
	for _, o := range []struct {
		which
		name string
	}{{ofC, "Cluster API object"}, {ofI, "provider's object"}, {ofK, "object for the instance"}} {
		if at := w.at(o.which); w.m.has(emptied) && at.has(there) && !at.has(leaving) {
			t.may(collector, "the namespace controller deletes the "+o.name, func(n *pair) { n.remove(o.which, collector) })
		}
	}
}
