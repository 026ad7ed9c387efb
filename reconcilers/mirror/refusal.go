// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/mirroring/answers"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// refused is the error of a write that the API server has judged and refused. The condition Synchronized reports it, so the error is not reported in any other
// way. rest is how long the pair waits.
type refused struct {
	error
	rest time.Duration
}

func (r refused) Unwrap() error { return r.error }

// refused reports on the Machine API object that the API server refuses the mirror (answers.IsRefusal). It always returns the error. If it has reported the
// error, the pair is requeued later.
func (r *reconciler) refused(ctx context.Context, p *pass, w *pairs.Write, err error) error {
	if w.Failure || !answers.IsRefusal(err) {
		return err
	}
	if p.first {
		if failed := r.facts.Surroundings(ctx, p.State); failed != nil || p.State.Surroundings == authority.Go {
			return errors.Join(err, failed) // the next pass reports why
		}
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		if replaced, err := r.replaced(ctx, p, w); replaced || err != nil {
			return err
		}
	}
	rest := r.refusals.Note(types.NamespacedName{Namespace: p.Pair.MachineAPI, Name: p.Name}, w, r.now())
	if report := status.Refused(p.State, err.Error(), r.now()); report != nil {
		if failed := r.perform(ctx, p, report); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return refused{err, rest}
}

// replaced deletes an object that the API server refuses to change, if the API server would create the object with the wanted content. The deletion requeues
// the pair, and the next pass creates the object. This happens once for each content: if webhooks change the content at the creation, the change would be
// refused again, and the object would be replaced forever.
func (r *reconciler) replaced(ctx context.Context, p *pass, w *pairs.Write) (bool, error) {
	replacement, k := deletion.Of(p.State).Replace(w), types.NamespacedName{Namespace: p.Pair.MachineAPI, Name: p.Name}
	if replacement == nil || !r.refusals.Replace(k, w.Object.Object["spec"]) {
		return false, nil
	}
	created := w.Object.DeepCopy()
	created.SetResourceVersion("")
	created.SetUID("")
	err := r.writer.Create(ctx, created, client.DryRunAll, client.FieldOwner(ownership.Manager))
	switch {
	case apierrors.IsAlreadyExists(err): // the API server checks everything else before it reports that the object exists
		for err = nil; replacement != nil && err == nil; replacement = deletion.Of(p.State).Replace(w) {
			err = r.perform(ctx, p, replacement)
		}
		if err != nil {
			r.refusals.Forget(k) // the deletion failed, for example by a conflict, and the object is unchanged
		}
		return true, err
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return false, nil
	}
	r.refusals.Forget(k)
	return false, err
}
