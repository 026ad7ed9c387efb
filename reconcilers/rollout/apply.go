// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

func controls(set *unstructured.Unstructured) bool {
	return slices.Contains(set.GetFinalizers(), controlplane.Finalizer)
}

// holdOn returns the write that adds the finalizer to the set. No Machine may refer to a set that can be deleted without it.
func (r *reconciler) holdOn(set *unstructured.Unstructured) write {
	return func(ctx context.Context) error {
		finalizers := append(slices.Clone(set.GetFinalizers()), controlplane.Finalizer)
		if err := r.patch(ctx, set, map[string]any{"finalizers": finalizers}, nil); err != nil {
			return fmt.Errorf("adding the finalizer to the ControlPlaneMachineSet: %w", err)
		}
		log.FromContext(ctx).Info("Set taken up", "set", set.GetName())
		return nil
	}
}

// release returns the writes that remove the set as an owner of its Machines, so that the garbage collector does not delete the Machines. Once the set owns no
// Machine, it returns the write that removes the finalizer.
func (r *reconciler) release(s *state) []write {
	var out []write
	for _, m := range s.owned {
		out = append(out, func(ctx context.Context) error {
			rest := slices.DeleteFunc(m.GetOwnerReferences(), refersTo(s.set.GetUID()))
			if err := r.patch(ctx, m, map[string]any{"ownerReferences": rest}, nil); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("releasing Machine %s: %w", m.GetName(), err)
			}
			r.recordEvent(ctx, s, m, "Released", "Release", "The ControlPlaneMachineSet is being deleted, and this Machine stays.")
			return nil
		})
	}
	if len(s.owned) == 0 && controls(s.set) {
		out = append(out, func(ctx context.Context) error {
			rest := slices.DeleteFunc(s.set.GetFinalizers(), func(f string) bool { return f == controlplane.Finalizer })
			if err := r.patch(ctx, s.set, map[string]any{"finalizers": rest}, nil); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("removing the finalizer from the ControlPlaneMachineSet: %w", err)
			}
			log.FromContext(ctx).Info("Set let go", "set", s.set.GetName())
			return nil
		})
	}
	return out
}

// steps returns the writes of the plan. A pass writes to each Machine at most once, because what it has read of the Machine is outdated after that.
func (r *reconciler) steps(s *state) []write {
	var out []write
	written := map[string]bool{}
	for _, step := range s.plan.Steps() {
		if name := step.Machine.Name; name != "" && written[name] {
			continue
		}
		written[step.Machine.Name] = true
		out = append(out, func(ctx context.Context) error {
			err := r.take(ctx, s, step)
			if err != nil && !versioned.Overtaken(err) {
				r.recorder.Eventf(s.set, nil, corev1.EventTypeWarning, "StepFailed", string(step.Verb), "%s", eventnote.Cut(err.Error(), eventnote.Longest))
			}
			return err
		})
	}
	return out
}

func (r *reconciler) take(ctx context.Context, s *state, step controlplane.PlannedStep) error {
	switch step.Verb {
	case controlplane.Adopt:
		return r.adopt(ctx, s, step)
	case controlplane.Amend:
		return r.amend(ctx, s, step)
	case controlplane.Create:
		return r.create(ctx, s, step)
	case controlplane.Delete:
		return r.remove(ctx, s, step)
	}
	return nil
}

func (r *reconciler) adopt(ctx context.Context, s *state, step controlplane.PlannedStep) error {
	m := stored(step)
	owners := s.plan.Owners(step.Machine.Machine())
	if err := r.patch(ctx, m, map[string]any{"ownerReferences": owners}, nil); err != nil {
		return fmt.Errorf("adopting Machine %s: %w", m.GetName(), err)
	}
	r.recordEvent(ctx, s, m, "Adopted", string(step.Verb), step.Why)
	return nil
}

func (r *reconciler) amend(ctx context.Context, s *state, step controlplane.PlannedStep) error {
	m := stored(step)
	change := s.plan.Amendment(step.Machine)
	metadata, _ := change["metadata"].(map[string]any)
	spec, _ := change["spec"].(map[string]any)
	if err := r.patch(ctx, m, metadata, spec); err != nil {
		return fmt.Errorf("changing Machine %s in place: %w", m.GetName(), err)
	}
	r.recordEvent(ctx, s, m, "Amended", string(step.Verb), step.Why)
	return nil
}

// create creates the Machine under a name that is derived from its inputs. Two processes that decide from the same inputs use the same name, and the API server
// accepts only one of them.
func (r *reconciler) create(ctx context.Context, s *state, step controlplane.PlannedStep) error {
	m, err := facts.Unstructured(s.plan.Machine(step.Index))
	if err != nil {
		return err
	}
	err = r.writer.Create(ctx, m)
	r.remember(s.plan.TrialOf(step.Index), m.GetName(), err)
	if err != nil {
		return fmt.Errorf("creating Machine %s at index %d: %w", m.GetName(), step.Index.Number, err)
	}
	r.live.wrote(m.GetResourceVersion())
	r.meters.count(step)
	r.recordEvent(ctx, s, m, "Created", string(step.Verb), step.Why)
	return nil
}

// remove deletes the Machine if it has not changed since the decision. In the first moments after the operator began, it waits for the mirror (unheld).
func (r *reconciler) remove(ctx context.Context, s *state, step controlplane.PlannedStep) error {
	m := stored(step)
	unheld, err := r.unheld(ctx, step.Machine.Machine())
	if err != nil {
		return fmt.Errorf("deleting Machine %s: %w", m.GetName(), err)
	}
	if unheld {
		s.held = true
		log.FromContext(ctx).Info("Deletion waits until the Machine has its finalizer for the mirror", "machine", m.GetName(), "finalizer", authority.SyncFinalizer)
		return nil
	}
	err = versioned.Delete(ctx, r.writer, m)
	if apierrors.IsNotFound(err) {
		return nil // somebody else's deletion was faster
	}
	if err != nil {
		return fmt.Errorf("deleting Machine %s: %w", m.GetName(), err)
	}
	r.meters.count(step)
	r.recordEvent(ctx, s, m, "Deleted", string(step.Verb), step.Why)
	return nil
}

// unheld reports whether a Machine has a mirror in Cluster API, and does not have the finalizer by which its deletion waits for the mirror. That is so for a
// moment after Poundlock was removed and installed again. Deleted then, the Machine would leave the mirror behind, which nobody would delete. A Machine that
// the mirror reconciler does not mirror may never get the finalizer, so the wait is limited.
func (r *reconciler) unheld(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
	refused := func(c machinev1beta1.Condition) bool {
		return c.Type == authority.ConditionSynchronized && c.Status == corev1.ConditionFalse
	}
	if r.now().Sub(r.began) > mirrored || slices.Contains(m.Finalizers, authority.SyncFinalizer) || slices.ContainsFunc(m.Status.Conditions, refused) {
		return false, nil
	}
	kind, _ := authority.KindNamed(machineKind.Kind)
	mirror := &metav1.PartialObjectMetadata{}
	mirror.SetGroupVersionKind(kind.ClusterAPI.WithKind(kind.Name))
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.pair.ClusterAPI, Name: m.Name}, mirror)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// stored returns the Machine of a step with only those fields that a write needs.
func stored(step controlplane.PlannedStep) *unstructured.Unstructured {
	from := step.Machine.Machine()
	m := object(machineKind)
	m.SetNamespace(from.Namespace)
	m.SetName(from.Name)
	m.SetUID(from.UID)
	m.SetResourceVersion(from.ResourceVersion)
	m.SetOwnerReferences(from.OwnerReferences)
	return m
}

// patch sends a merge patch to an object, which the API server refuses if the object has changed since the decision.
func (r *reconciler) patch(ctx context.Context, o *unstructured.Unstructured, metadata, spec map[string]any) error {
	body := map[string]any{"metadata": metadata}
	if spec != nil {
		body["spec"] = spec
	}
	return versioned.Patch(ctx, r.writer, o.DeepCopy(), body)
}

// recordEvent records an event on the set, with the Machine as the related object.
func (r *reconciler) recordEvent(ctx context.Context, s *state, m *unstructured.Unstructured, reason, action, why string) {
	log.FromContext(ctx).Info("Machine "+strings.ToLower(reason), "machine", m.GetName(), "why", why)
	r.recorder.Eventf(s.set, m, corev1.EventTypeNormal, reason, action, "%s",
		eventnote.Cut(fmt.Sprintf("Machine %s was %s. %s", m.GetName(), strings.ToLower(reason), why), eventnote.Longest))
}

// writes returns the writes that a state requires, in order. The finalizer comes before every write that must be undone before the set may be deleted.
func (r *reconciler) writes(s *state) []write {
	switch {
	case s.deleting():
		return append(r.release(s), r.report(s)...)
	case s.set != nil && s.plan.Active && !controls(s.set):
		return []write{r.holdOn(s.set)}
	case s.set == nil:
		return r.report(s)
	case s.retries:
		return r.steps(s)
	}
	return append(r.steps(s), r.report(s)...)
}
