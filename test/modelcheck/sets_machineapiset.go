// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// setsMachineAPISet is the controller of the Machine API's set. It reads past the cache, decides and writes, and acknowledges a pause between two passes.
type setsMachineAPISet struct{}

// Moves implements actor.
func (setsMachineAPISet) Moves(t *setTurn) {
	w := &t.was
	acts := w.current == authority.MachineAPI
	acknowledged := authority.AcknowledgedPaused
	if acts {
		acknowledged = authority.AcknowledgedUnpaused
	}
	if w.m.acknowledged != acknowledged {
		t.do(controller, fmt.Sprintf("Machine API's set controller acknowledges, acting: %v", acts), func(w *setPair) { w.m.acknowledged = acknowledged })
		return
	}
	if acts {
		t.scale(authority.MachineAPI)
	}
}

func (t *setTurn) scale(a authority.API) {
	w := &t.was
	switch n := w.number(a); {
	case n < w.set(a).replicas && w.room():
		t.creates(a)
	case n > w.set(a).replicas:
		t.do(controller, a.Text()+"'s set deletes a Machine", func(w *setPair) { w.judge(a); w.delete(a) })
	}
}
