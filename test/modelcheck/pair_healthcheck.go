// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// pairHealthCheck is either API's controller of MachineHealthChecks, beside what every controller does. A pass of it makes a request to remediate, or takes
// that back, and its status shows that.
type pairHealthCheck struct{}

// Moves implements actor.
func (pairHealthCheck) Moves(t *turn) {
	if !t.can(remediates) {
		return
	}
	w := &t.was
	for _, c := range []struct {
		which
		acts bool
		name string
	}{
		{ofM, w.work == toLook && !w.behind, "Machine API"},
		{ofC, w.core.seen.mayAct() && w.c.presence() == authority.Present, "Cluster API"},
	} {
		if !c.acts || !w.at(c.which).has(there) {
			continue
		}
		what := c.name + "'s check has somebody else remediate a Machine"
		if w.at(c.which).has(requesting) {
			what = c.name + "'s check takes its request to remediate back"
		}
		t.might(what, func(n *pair) {
			*n.at(c.which) ^= requesting
			n.wrote(c.which, user, false)
		})
	}
}
