// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// coreController is Cluster API's core controller, of Machines, MachineSets or MachineHealthChecks.
var coreController = clusterAPI{core, coreCache, "Cluster API's controller", ofC, func(w *pair) *view { return &w.core }, (*pair).showC}

func (t *turn) coreActs(seen object) {
	w := &t.was
	switch {
	case !seen.has(leaving):
		if !t.set && w.i.has(there) && !w.i.has(owned) && t.allows(byCore, w) {
			t.may(core, "Cluster API's controller makes itself the owner of the provider's object", func(n *pair) {
				n.i.clear(dangling)
				n.i.set(owned)
				n.wrote(ofI, core, false)
			})
		}
	case seen.has(hooked):
		// The controller waits for the hook before it deletes the provider's object.
	case !t.set && w.i.has(there):
		if !w.i.has(leaving) {
			t.may(core, "Cluster API's controller deletes the provider's object", func(n *pair) { n.remove(ofI, core) })
		}
	default:
		t.may(core, "Cluster API's controller takes its finalizer off", func(n *pair) { t.finalizers(n, coreController, seen&^ctlFin) })
	}
}
