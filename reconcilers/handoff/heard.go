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
	// pauseSeenAfter is how long an object must have been paused before Poundlock takes the pause for seen by a controller that never answers: a pass that
	// was under way, with a cache that was behind, is over by then.
	pauseSeenAfter = 30 * time.Second
	// trustedAfter is the age from which Poundlock believes the time of a pause. Its own clock and the API server's are not that far apart.
	trustedAfter = 5 * time.Minute
	// mostPauses bounds what is remembered. Beyond it, all waits begin anew.
	mostPauses = 10_000
)

// pauses remember since when this process has seen an object paused, by its UID. The API server's time of a pause proves little: the clocks may differ, and
// anybody may clear managed fields. What this process has seen is later, and never earlier.
type pauses struct {
	mu   sync.Mutex
	seen map[types.UID]seenPause
}

// seenPause is a pause by the time at which it was written, and since when it was seen.
type seenPause struct{ written, since time.Time }

// left is how long to wait yet until the controller of an object, which does not answer, has seen the pause; 0 for one that is not paused.
func (p *pauses) left(o *unstructured.Unstructured, now time.Time) time.Duration {
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
	if known && now.Sub(written) > trustedAfter {
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
	return max(0, pauseSeenAfter-now.Sub(last.since))
}

// pausedAt is when the pause annotation was last written, by the word of the API server, and whether there is such a word. Who writes it again with something
// else begins anew: that is late, and never early. Of a pause of the handoff's its own entry shows that: a pause that was taken off, by whomever, and put on
// again by somebody else is not in it any more, and the mirror's apply, which repeats the pause with all else, begins nothing anew.
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
