// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// pairFormerLeader is a manager that has lost its lease and has not noticed. It goes on only until the end of its pass.
type pairFormerLeader struct{}

// Moves implements actor.
func (pairFormerLeader) Moves(t *turn) {
	if f := &t.was.former; f.phase == reading {
		t.may(former, "the former leader gives up", func(n *pair) { n.former = pass{} })
	} else if f.phase == writing {
		t.goOn(former, "the former leader", f.left, func(n *pair) *pass { return &n.former })
	}
}
