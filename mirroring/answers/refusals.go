// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/mirroring/pairs"
)

// How long the mirror waits before it repeats a write that the API server has refused. The time doubles with each refusal, up to mostRest. If a change of the
// pair leads to another write, that write is sent at once.
const (
	firstRest = time.Second
	mostRest  = 15 * time.Second
)

// Refusals are the writes that the API server has refused last, by pair.
type Refusals struct {
	mu sync.Mutex
	at map[types.NamespacedName]refusal
	// replaced is the content for which the object of a pair was last replaced.
	replaced map[types.NamespacedName]any
}

// Replace reports whether the object of a pair must be replaced (deleted and recreated) so that it gets this content. It returns true only once in a row for
// the same content.
func (r *Refusals) Replace(k types.NamespacedName, content any) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, was := r.replaced[k]; was && reflect.DeepEqual(last, content) {
		return false
	}
	if r.replaced == nil {
		r.replaced = map[types.NamespacedName]any{}
	}
	r.replaced[k] = content
	return true
}

// Forget removes the content that Replace has recorded for the pair, so that Replace returns true again at the next refusal.
func (r *Refusals) Forget(k types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.replaced, k)
}

type refusal struct {
	write *pairs.Write
	rest  time.Duration
	until time.Time
}

// Note stores a refusal, and returns how long the mirror waits before it repeats the write.
func (r *Refusals) Note(k types.NamespacedName, w *pairs.Write, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := firstRest
	if last, known := r.at[k]; known && w.Equals(last.write) {
		rest = min(2*last.rest, mostRest)
	}
	if r.at == nil {
		r.at = map[types.NamespacedName]refusal{}
	}
	r.at[k] = refusal{w, rest, now.Add(rest)}
	return rest
}

// Left returns how much longer a refused write must wait; 0 for a write that is due, or that was not refused. If w is nil or another write, Left forgets the
// refusal, because the pair no longer needs the refused write.
func (r *Refusals) Left(k types.NamespacedName, w *pairs.Write, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.at[k]
	if !known {
		return 0
	}
	if w == nil || !w.Equals(last.write) {
		delete(r.at, k)
		return 0
	}
	return max(0, last.until.Sub(now))
}
