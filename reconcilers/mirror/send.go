// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// perform sends one write and stores the answer in the state.
func (r *reconciler) perform(ctx context.Context, p *pass, w *pairs.Write) error {
	now := w.Object.DeepCopy()
	err := r.send(ctx, p.State, w, now)
	r.count(p.Kind.Name, w, err)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", w.Verb, pairs.Describe(w.Object), err)
	}
	if w.Verb == pairs.Create || w.Verb == pairs.Apply {
		r.kept.Record(w.Object, now)
	}
	if w.Verb != pairs.Apply || now.GetResourceVersion() != w.Object.GetResourceVersion() { // otherwise the apply changed nothing
		r.noteWrite(ctx, p, w)
	}
	if w.Verb == pairs.Remove || now.GetDeletionTimestamp() != nil && len(now.GetFinalizers()) == 0 {
		if now, err = served.Read(ctx, r.facts.Live, w.Object.GroupVersionKind(), w.Object.GetNamespace(), w.Object.GetName()); err != nil {
			return err
		}
	}
	if w.Verb == pairs.Create {
		p.Made = now.GetUID()
	}
	p.Store(w.Object, now)
	return nil
}

func (r *reconciler) send(ctx context.Context, s *pairs.State, w *pairs.Write, o *unstructured.Unstructured) error {
	if w.Provided != (pairs.Proviso{}) {
		r.owners.Lock()
		defer r.owners.Unlock()
		if err := r.holds(ctx, s, w); err != nil {
			return err
		}
	}
	switch w.Verb {
	case pairs.Create:
		if o.GroupVersionKind().Group == r.kind.MachineAPI.Group { // from then on users set spec.authoritativeAPI, and an apply would own it
			return r.writer.Create(ctx, o, client.FieldOwner(ownership.Manager), client.FieldValidation(metav1.FieldValidationStrict))
		}
		o.SetResourceVersion(ofNothing)
		return r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(ownership.Manager))
	case pairs.Apply:
		return r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(ownership.Manager), client.ForceOwnership)
	case pairs.Patch:
		return versioned.Patch(ctx, r.writer, o, w.Patch, client.FieldOwner(cmp.Or(w.By, ownership.Manager)))
	case pairs.PatchStatus:
		return versioned.PatchStatus(ctx, r.writer, o, w.Patch, client.FieldOwner(ownership.Manager))
	}
	as := client.Preconditions{UID: new(o.GetUID())}
	if w.Provided.Unchanged {
		as.ResourceVersion = new(o.GetResourceVersion())
	}
	return client.IgnoreNotFound(r.writer.Delete(ctx, o, as, client.PropagationPolicy(w.Propagation())))
}

// holds returns a conflict error if the write's proviso (Provided) is no longer true.
func (r *reconciler) holds(ctx context.Context, s *pairs.State, w *pairs.Write) error {
	if set := w.Provided.Stays; set != nil {
		now, err := served.Read(ctx, r.facts.Live, set.GroupVersionKind(), set.GetNamespace(), set.GetName())
		if err == nil && (pairs.PresenceOf(now) != authority.Present || now.GetUID() != set.GetUID()) {
			err = versioned.Changed(set)
		}
		return err
	}
	if set := w.Provided.Gone; set != nil {
		now, err := served.Read(ctx, r.facts.Live, set.GroupVersionKind(), set.GetNamespace(), set.GetName())
		if err == nil && now != nil {
			err = versioned.Changed(set)
		}
		return err
	}
	if !w.Provided.Childless {
		return nil
	}
	owned, err := r.facts.Owned(ctx, s)
	if err == nil && len(owned) > 0 {
		err = versioned.Changed(w.Object)
	}
	return err
}

// ofNothing is a resourceVersion that no object has. An apply with it creates an object that does not exist, and gets a conflict if somebody has created the
// object in the meantime.
const ofNothing = "1"
