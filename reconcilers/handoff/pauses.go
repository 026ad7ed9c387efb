// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

const (
	// pauseSeenAfter is how long an object must have been paused before Poundlock assumes that a controller which never acknowledges has seen the pause. By then,
	// a pass with an outdated cache is over.
	pauseSeenAfter = 30 * time.Second
	// creationEndsAfter replaces pauseSeenAfter if that controller may have begun to create an instance whose ID it has not stored. If a cloud answers a call
	// slowly, or the call is repeated, the creation takes longer than pauseSeenAfter, and nothing reports its end.
	creationEndsAfter = 15 * time.Minute
	// clocksDiffer is the assumed maximum difference between Poundlock's own clock and the API server's.
	clocksDiffer = 5 * time.Minute
	// mostPauses is how many pauses are remembered. If there are more, all waits start again. A pause older than its wait plus clocksDiffer is not remembered. So
	// only the pauses of the last twenty minutes count, and a fleet at rest has none.
	mostPauses = 10_000
)

// pauses remember since when this process has seen an object paused, by the object's UID. The time that the API server records for a pause proves little,
// because the clocks may differ and anybody can clear managed fields. The time at which this process saw the pause is never too early.
type pauses struct {
	mu   sync.Mutex
	seen map[types.UID]seenPause
}

// seenPause has the time at which a pause was written, and the time since when this process has seen it.
type seenPause struct{ written, since time.Time }

// left returns how much longer to wait until an object has been paused for the duration wait; 0 for an object that is not paused.
func (p *pauses) left(o *unstructured.Unstructured, now time.Time, wait time.Duration) time.Duration {
	if o == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, paused := o.GetAnnotations()[authority.PausedAnnotation]; !paused {
		delete(p.seen, o.GetUID())
		return 0
	}
	written, known := pausedAt(o)
	last, seen := p.seen[o.GetUID()]
	if seen && now.Sub(last.since) < wait && (!known || !written.After(last.written)) {
		return wait - now.Sub(last.since) // also if the managed fields now have an earlier time: anybody can write them
	}
	if known && now.Sub(written) > wait+clocksDiffer {
		delete(p.seen, o.GetUID())
		return 0
	}
	if !seen || !last.written.Equal(written) {
		if p.seen == nil || len(p.seen) >= mostPauses {
			p.seen = map[types.UID]seenPause{}
		}
		last = seenPause{written: written, since: now}
		p.seen[o.GetUID()] = last
	}
	return max(0, wait-now.Sub(last.since))
}

// pausedAt returns when the pause annotation was last written according to the managed fields, and whether these have the annotation. A writer that repeats the
// annotation together with another change makes that time later. So the time may be too late, but never too early.
//
// If the handoff wrote the pause, the handoff's own entry counts. The mirror's apply repeats the pause with everything else, and must not restart the wait. If
// the annotation was removed and then set again by somebody else, the handoff's entry no longer has it. If only the mirror's apply has the annotation, the
// object has been paused since it was created, because its apply pauses nothing that exists (twin.WantInfra).
func pausedAt(o *unstructured.Unstructured) (at time.Time, known bool) {
	var handoffs, others, mirrors time.Time
	for _, f := range o.GetManagedFields() {
		last := &others
		switch {
		case f.Manager == fieldManager && f.Operation == metav1.ManagedFieldsOperationUpdate:
			last = &handoffs
		case f.Manager == ownership.Manager && f.Operation == metav1.ManagedFieldsOperationApply:
			last = &mirrors
		}
		if writesPause(f) && f.Time.After(*last) {
			*last = f.Time.Time
		}
	}
	switch {
	case !handoffs.IsZero():
		return handoffs, true
	case !others.IsZero():
		return others, true
	case !mirrors.IsZero():
		return o.GetCreationTimestamp().Time, true
	}
	return time.Time{}, false
}

func writesPause(f metav1.ManagedFieldsEntry) bool {
	return f.Time != nil && managedfields.EntryHolds(f, managedfields.Path("metadata", "annotations", authority.PausedAnnotation))
}
