// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// pairNeighbours are the neighbours of authority.Grants. No field that a row lets through is anything that somebody decides from, and each write counts as one of the object's. A
// row that is too wide would let one of them write what a mirror is to have of its authority.
type pairNeighbours struct{}

// Moves implements actor.
func (pairNeighbours) Moves(t *turn) {
	if !t.can(visits) {
		return
	}
	for _, on := range []struct {
		which
		name string
	}{{ofM, "Machine API object"}, {ofC, "Cluster API object"}, {ofI, "provider's object"}} {
		if t.was.at(on.which).has(there) {
			t.might("a neighbour writes to the "+on.name, func(n *pair) {
				if t.rules.wideRow && on.which == ofC && n.source() == authority.MachineAPI {
					n.c.clear(fresh)
				}
				n.wrote(on.which, user, true)
			})
		}
	}
}
