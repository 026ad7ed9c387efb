// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// provider is the provider's controller of machines. instanceController is its second controller, of the objects that it keeps for instances. If there is a
// second controller, only that one calls the cloud.
var (
	provider           = clusterAPI{infra, infraCache, "the provider's controller", ofI, func(w *pair) *view { return &w.infra }, (*pair).showI}
	instanceController = clusterAPI{instance, instanceCache, "the provider's controller of instances", ofK,
		func(w *pair) *view { return &w.instance }, (*pair).showK}
)

// providerActs emits what the provider's controller does. It does nothing without the Machine that owns its object.
func (t *turn) providerActs(seen object) {
	switch w := &t.was; {
	case !w.c.has(there):
	case seen.has(leaving) && w.cloud.runs() && (w.cloud&byC != 0 || seen.has(pid)):
		t.may(infra, "the provider's controller ends the instance", func(n *pair) { n.terminate(true) })
	case seen.has(leaving):
		t.may(infra, "the provider's controller takes its finalizer off", func(n *pair) { t.finalizers(n, provider, seen&^ctlFin) })
	case !seen.has(pid) && !w.i.has(pid):
		t.may(infra, "the provider's controller creates the instance", func(n *pair) { n.cloud |= byC | answer })
	}
}

// keeperActs emits what the controller of a provider's machines does if it keeps an object for each instance. It calls no cloud itself. It creates and deletes
// that object by what is stored: either it wrote that itself, or the API server would refuse the write.
func (t *turn) keeperActs(seen object) {
	w := &t.was
	switch {
	case !w.c.has(there):
	case seen.has(leaving) && w.k.has(there):
		if !w.k.has(leaving) {
			t.may(infra, "the provider's controller deletes what it keeps for the instance", func(n *pair) { n.remove(ofK, infra) })
		}
	case seen.has(leaving):
		t.may(infra, "the provider's controller takes its finalizer off", func(n *pair) { t.finalizers(n, provider, seen&^ctlFin) })
	case !w.k.has(there):
		if !w.m.has(emptied) {
			t.may(infra, "the provider's controller makes what it keeps for the instance", func(n *pair) {
				n.makesKept(owned)
				n.wrote(ofK, infra, false)
			})
		}
	case t.keeps == keptByMirror && !w.k.has(owned):
		t.may(infra, "the provider's controller makes its machine the owner of what it keeps for the instance", func(n *pair) {
			n.k.clear(dangling)
			n.k.set(owned)
			n.wrote(ofK, infra, false)
		})
	case w.k.has(pid) && !seen.has(pid) && !w.i.has(pid):
		t.may(infra, "the provider's controller copies the instance's ID", func(n *pair) {
			n.i.set(pid)
			n.wrote(ofI, infra, true)
		})
	}
}

// instanceActs emits what the controller of the kept objects does. An instance that is known to the provider's machine has existed for long, and is found by
// its name.
func (t *turn) instanceActs(seen object) {
	w := &t.was
	switch {
	case t.keeps == keptByMirror && !(w.k.has(owned) && w.i.has(there) && w.c.has(there)):
	case seen.has(leaving) && w.cloud.runs():
		t.may(instance, "the provider's controller ends the instance", func(n *pair) { n.terminate(true) })
	case seen.has(leaving):
		t.may(instance, "the provider's controller of instances takes its finalizer off", func(n *pair) { t.finalizers(n, instanceController, seen&^ctlFin) })
	case seen.has(pid) || w.k.has(pid):
	case w.cloud&byC != 0 || w.cloud.runs() && (w.i.has(pid) || !w.i.has(there)):
		t.may(instance, "the provider's controller finds the instance", func(n *pair) {
			n.k.set(pid)
			n.wrote(ofK, instance, false)
		})
	default:
		t.may(instance, "the provider's controller creates the instance", func(n *pair) { n.cloud |= byC | answer })
	}
}
