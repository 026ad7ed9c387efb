// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// familyCollector is the garbage collector. It deletes in the background and in the foreground, and makes orphans if a deletion asks for that.
type familyCollector struct{}

// Moves implements actor.
func (familyCollector) Moves(t *familyTurn) {
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		s, name := *t.was.sets(a), a.Text()
		left := false
		for i := range t.was.machines {
			k := *t.was.machines[i].on(a)
			left = left || k.has(here|mine)
			if k.presence() == authority.Present && (k.has(once) || k.has(mine) && s.has(foreground)) {
				t.may(collector, fmt.Sprintf("the garbage collector deletes %s's Machine %d", name, i+1), func(w *family) { *w.machines[i].on(a) |= going })
			}
		}
		if s.has(foreground) && !left {
			t.may(collector, "the garbage collector is done with "+name+"'s MachineSet", func(w *family) { *w.sets(a) &^= foreground })
		}
		if s.has(orphans) {
			t.may(collector, "the garbage collector makes orphans of the Machines of "+name+"'s MachineSet", func(w *family) {
				*w.sets(a) &^= orphans
				for i := range w.machines {
					k := &w.machines[i]
					k.freed = k.freed || k.on(a).has(mine) && t.setEnds(a)
					*k.on(a) &^= mine | once
				}
			})
		}
	}
}
