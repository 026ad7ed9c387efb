// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"slices"
	"testing"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
)

// A deletion of the Cluster API object that is stored between the last look of a move and its end cancels the move. Without an announcement, Cluster API would
// become authoritative for an object that is being deleted, and the instances would end.
func TestADeletionBeforeTheEndOfAMoveCancelsIt(t *testing.T) {
	for _, kind := range []string{"Machine", "MachineSet"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, kind)
			w.machineAPI(authority.MachineAPI)
			w.waitSettled(authority.MachineAPI)
			w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"finalizers": append(w.of(w.core()).GetFinalizers(), authority.SyncFinalizer)}})
			w.request(authority.ClusterAPI)
			p, step := w.untilTheEnd()
			if err := w.Delete(t.Context(), w.of(w.core())); err != nil {
				t.Fatal(err)
			}
			if _, err := w.r.apply(t.Context(), p, step); !versioned.Outdated(err) {
				t.Fatalf("the end of the move: %v", err)
			}
			for range 10 {
				if w.shape().Current == authority.MachineAPI {
					break
				}
				w.controllersAnswer()
				w.look()
			}
			if s := w.shape(); s.Current != authority.MachineAPI {
				t.Errorf("status %s", s.Current)
			}
		})
	}
}

func TestTheEndOfAMoveIsAnnounced(t *testing.T) {
	w := newWorld(t, "MachineSet")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	value := func() string { return w.of(w.core()).GetAnnotations()[authority.PausedAnnotation] }

	w.request(authority.ClusterAPI)
	p, step := w.untilTheEnd()
	if err := w.r.announce(t.Context(), p, step); err != nil || value() != authority.Arriving(w.of(w.mapi()).GetGeneration()) {
		t.Errorf("the pause is %q: %v", value(), err)
	}
	writes := w.writes.Load()
	if err := w.r.announce(t.Context(), p, step); err != nil || w.writes.Load() != writes {
		t.Errorf("it is announced again: %v", err)
	}
	w.request(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	if value() != "true" {
		t.Errorf("after the move is cancelled, the pause is %q", value())
	}
	w.request(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)
	if value() != "" {
		t.Errorf("after the move, there is a pause, %q", value())
	}
}

// untilTheEnd lets everybody go on until the handoff's next step is the Switch, and returns that step with what it was decided from.
func (w *world) untilTheEnd() (*pair, authority.Step) {
	w.Helper()
	var steps []authority.Action
	for range 40 {
		w.everybody()
		p, step, err := w.r.decide(w.Context(), w.r.live, keyOf(w))
		if err != nil {
			w.Fatal(err)
		}
		if step.Action == authority.Switch {
			return p, step
		}
		steps = append(steps, step.Action)
		w.pass()
	}
	w.Fatalf("no move comes to its end: %v", slices.Compact(steps))
	return nil, authority.Step{}
}
