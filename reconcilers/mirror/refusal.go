// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/policies/ownership"
)

// How long a write rests that the API server has refused: longer each time, up to the most. A change of the pair that leads to another write is made at once.
const (
	firstRest = time.Second
	mostRest  = 15 * time.Second
)

// refused is the error of a write that the API server has judged and refused. The condition reports it, and nothing else needs to.
type refused struct {
	error
	rest time.Duration
}

func (r refused) Unwrap() error { return r.error }

// refusals are the writes that were refused lately, by pair.
type refusals struct {
	mu sync.Mutex
	at map[key]refusal
	// replaced is the content for which a pair's object was replaced last.
	replaced map[key]any
}

// replace reports whether an object is to be replaced to have this content, once.
func (r *refusals) replace(k key, content any) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, was := r.replaced[k]; was && reflect.DeepEqual(last, content) {
		return false
	}
	if r.replaced == nil {
		r.replaced = map[key]any{}
	}
	r.replaced[k] = content
	return true
}

// forget has the next refusal of the pair ask again.
func (r *refusals) forget(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.replaced, k)
}

type refusal struct {
	write *pairs.Write
	rest  time.Duration
	until time.Time
}

// note remembers a refusal, and returns how long the write rests.
func (r *refusals) note(k key, w *pairs.Write, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := firstRest
	if last, known := r.at[k]; known && w.Equals(last.write) {
		rest = min(2*last.rest, mostRest)
	}
	if r.at == nil {
		r.at = map[key]refusal{}
	}
	r.at[k] = refusal{w, rest, now.Add(rest)}
	return rest
}

// left is how long a write rests yet; 0 of one that is due, or that was not refused. A pair that needs no such write is forgotten.
func (r *refusals) left(k key, w *pairs.Write, now time.Time) time.Duration {
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

// refused reports on the Machine API object that the API server refuses the mirror; conflicts, timeouts and other
// errors that pass are not reported. The error is returned either way; after a reported one the pair rests.
func (r *reconciler) refused(ctx context.Context, p *pass, w *pairs.Write, err error) error {
	passing := apierrors.ReasonForError(err) != metav1.StatusReasonUnknown &&
		!apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsBadRequest(err)
	if passing || w.Failure || isNetwork(err) {
		return err
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		if replaced, err := r.replaced(ctx, p, w); replaced || err != nil {
			return err
		}
	}
	rest := r.refusals.note(key{Namespace: p.Pair.MachineAPI, Name: p.Name}, w, r.now())
	if report := status.Refused(p.State, err.Error(), r.now()); report != nil {
		if failed := r.perform(ctx, p, report); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return refused{err, rest}
}

// replaced deletes what the API server refuses to change, if it would create it as it is wanted; the deletion wakes the pair, which does. It is asked once for
// each content: what is given another content at its creation would be refused again, and be replaced for ever.
func (r *reconciler) replaced(ctx context.Context, p *pass, w *pairs.Write) (bool, error) {
	replacement, k := deletion.Of(p.State).Replace(w), key{Namespace: p.Pair.MachineAPI, Name: p.Name}
	if replacement == nil || !r.refusals.replace(k, w.Object.Object["spec"]) {
		return false, nil
	}
	created := w.Object.DeepCopy()
	created.SetResourceVersion("")
	created.SetUID("")
	err := r.writer.Create(ctx, created, client.DryRunAll, client.FieldOwner(ownership.Manager))
	switch {
	case apierrors.IsAlreadyExists(err): // every other obstacle comes before that one
		for err = nil; replacement != nil && err == nil; replacement = deletion.Of(p.State).Replace(w) {
			err = r.perform(ctx, p, replacement)
		}
		if err != nil {
			r.refusals.forget(k) // a conflict, say: the object is as it was
		}
		return true, err
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return false, nil
	}
	r.refusals.forget(k)
	return false, err
}

// isNetwork reports whether no API server answered.
func isNetwork(err error) bool {
	var status apierrors.APIStatus
	var kept *notKept
	return !errors.As(err, &status) && !errors.As(err, &kept)
}

// notKept is what an API server does that takes a write and stores something else.
type notKept struct{ error }
