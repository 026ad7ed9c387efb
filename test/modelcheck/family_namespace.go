// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// familyNamespaceController deletes what is in a namespace that is being deleted, in any order.
type familyNamespaceController struct{}

// Moves implements actor.
func (familyNamespaceController) Moves(t *familyTurn) {
	w := &t.was
	if !w.namespaceDeleted {
		return
	}
	if w.sc.presence() == authority.Present {
		t.may(collector, "the namespace controller deletes Cluster API's MachineSet", func(w *family) { w.sc |= going })
	}
	for i := range w.machines {
		if w.machines[i].c.presence() == authority.Present {
			t.may(collector, fmt.Sprintf("the namespace controller deletes Cluster API's Machine %d", i+1), func(w *family) { w.machines[i].c |= going })
		}
	}
}
