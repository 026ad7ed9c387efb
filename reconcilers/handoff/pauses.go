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
)

const (
	// pauseSeenAfter is how long an object must have been paused before Poundlock assumes that a controller which never acknowledges has seen the pause: by
	// then, a pass with a lagging cache is over.
	pauseSeenAfter = 30 * time.Second
	// creationEndsAfter replaces pauseSeenAfter where that controller may have begun to create an instance whose ID it has not stored. A call that a cloud is
	// slow to answer, or repeats, outlasts pauseSeenAfter, and nothing reports its end.
	creationEndsAfter = 15 * time.Minute
	// clocksDiffer is by how much at most Poundlock's own clock and the API server's are taken to differ.
	clocksDiffer = 5 * time.Minute
	// mostPauses is how many pauses are remembered. Beyond it, all waits start again. A pause older than its wait and the clocks' difference is not remembered,
	// so that only those of the last twenty minutes count, and none of a fleet at rest.
	mostPauses = 10_000
)

// pauses remember since when this process has seen an object paused, by its UID. The API server's time of a pause proves little, because the clocks may
// differ and anybody can clear managed fields. The time at which this process saw it is never too early.
type pauses struct {
	mu   sync.Mutex
	seen map[types.UID]seenPause
}

// seenPause is when a pause was written, and since when it was seen.
type seenPause struct{ written, since time.Time }

// left is the remaining wait until an object has been paused for a time; 0 for an object that is not paused.
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
	if known && now.Sub(written) > wait+clocksDiffer {
		delete(p.seen, o.GetUID())
		return 0
	}
	last, seen := p.seen[o.GetUID()]
	if !seen || !last.written.Equal(written) {
		if p.seen == nil || len(p.seen) >= mostPauses {
			p.seen = map[types.UID]seenPause{}
		}
		last = seenPause{written: written, since: now}
		p.seen[o.GetUID()] = last
	}
	return max(0, wait-now.Sub(last.since))
}

// pausedAt returns when the pause annotation was last written according to its managed fields, and whether they have it. A writer that repeats the annotation
// with another change moves that time, so it may be too late but never too early.
//
// If the handoff wrote the pause, its own entry counts. The mirror's apply repeats the pause with everything else, and must not restart the wait. If somebody
// removed the annotation and somebody else set it again, the handoff's entry no longer has it.
func pausedAt(o *unstructured.Unstructured) (at time.Time, known bool) {
	handoffs := false
	for _, f := range o.GetManagedFields() {
		if !writesPause(f) {
			continue
		}
		own := f.Manager == fieldManager && f.Operation == metav1.ManagedFieldsOperationUpdate
		if own && !handoffs {
			handoffs, at = true, time.Time{}
		}
		known = true
		if own == handoffs && f.Time.After(at) {
			at = f.Time.Time
		}
	}
	return at, known
}

func writesPause(f metav1.ManagedFieldsEntry) bool {
	return f.Time != nil && managedfields.EntryHolds(f, managedfields.Path("metadata", "annotations", authority.PausedAnnotation))
}
