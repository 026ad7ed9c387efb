// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// perform sends one write and puts what came back into the state.
func (r *reconciler) perform(ctx context.Context, p *pass, w *write) error {
	now := w.object.DeepCopy()
	err := r.send(ctx, p.state, w, now)
	r.count(p.kind.Name, w, err)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", w.verb, describe(w.object), err)
	}
	r.tell(ctx, p, w)
	if w.verb == remove || now.GetDeletionTimestamp() != nil && len(now.GetFinalizers()) == 0 {
		if now, err = get(ctx, r.live, w.object.GroupVersionKind(), w.object.GetNamespace(), w.object.GetName()); err != nil {
			return err
		}
	}
	if w.verb == create {
		p.made = now.GetUID()
	}
	p.store(w.object, now)
	return nil
}

func (r *reconciler) send(ctx context.Context, s *state, w *write, o *unstructured.Unstructured) error {
	if w.provided != (proviso{}) {
		r.owners.Lock()
		defer r.owners.Unlock()
		if err := r.holds(ctx, s, w); err != nil {
			return err
		}
	}
	switch w.verb {
	case create:
		if o.GroupVersionKind().Group == r.kind.MachineAPI.Group { // spec.authoritativeAPI is the user's from then on, and an apply would own it
			return r.writer.Create(ctx, o, client.FieldOwner(ownership.Manager), client.FieldValidation(metav1.FieldValidationStrict))
		}
		o.SetResourceVersion(ofNothing)
		return r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(ownership.Manager))
	case apply:
		return r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(ownership.Manager), client.ForceOwnership)
	case patch:
		return versioned.Patch(ctx, r.writer, o, w.patch, client.FieldOwner(cmp.Or(w.by, ownership.Manager)))
	case patchStatus:
		return versioned.PatchStatus(ctx, r.writer, o, w.patch, client.FieldOwner(ownership.Manager))
	}
	return client.IgnoreNotFound(r.writer.Delete(ctx, o, client.Preconditions{UID: uid(o)}, client.PropagationPolicy(w.propagation())))
}

// holds refuses a write, as a conflict, whose proviso is true no more.
func (r *reconciler) holds(ctx context.Context, s *state, w *write) error {
	if set := w.provided.stays; set != nil {
		now, err := get(ctx, r.live, set.GroupVersionKind(), set.GetNamespace(), set.GetName())
		if err == nil && (presence(now) != authority.Present || now.GetUID() != set.GetUID()) {
			err = changed(set)
		}
		return err
	}
	owned, err := owned(ctx, present{r.live, s}, s)
	if err == nil && len(owned) > 0 {
		err = changed(w.object)
	}
	return err
}

func changed(o *unstructured.Unstructured) error {
	what := schema.GroupResource{Group: o.GroupVersionKind().Group, Resource: o.GetKind()}
	return apierrors.NewConflict(what, o.GetName(), errors.New("it changed since it was read"))
}

// ofNothing is no object's resourceVersion: an apply with it makes what is absent, and meets a conflict with what somebody has made meanwhile.
const ofNothing = "1"

func uid(o *unstructured.Unstructured) *types.UID {
	u := o.GetUID()
	return &u
}
