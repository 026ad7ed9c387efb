// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
)

// owner is the field manager of the generated set.
const owner = client.FieldOwner("poundlock-generator")

// The reasons of events and conditions that this package adds to those of the generator.
const (
	reasonGenerated    = "Generated"
	reasonFollowed     = "Followed"
	reasonRegenerating = "Regenerating"
	reasonWriteRefused = "WriteRefused"
)

// reasons returns the reason of the event for each write.
func reasons() map[generator.Write]string {
	return map[generator.Write]string{
		generator.CreateSet: reasonGenerated, generator.PatchSet: reasonFollowed, generator.RecreateSet: reasonRegenerating,
	}
}

// apply sends the next write. If there is none, it reports the set's state.
func (r *reconciler) apply(ctx context.Context, set *unstructured.Unstructured, u generator.Plan) error {
	var err error
	about := set
	switch u.Write {
	case generator.CreateSet:
		about = &unstructured.Unstructured{Object: u.Object}
		err = r.writer.Create(ctx, about, owner)
	case generator.PatchSet:
		err = versioned.Patch(ctx, r.writer, set.DeepCopy(), u.Patch, owner)
	case generator.RecreateSet:
		err = r.remove(ctx, set)
	default:
		return r.report(ctx, set, u)
	}
	if refused(err) {
		return fmt.Errorf("%w%s", err, r.refusal(ctx, set, u, err))
	}
	if err != nil {
		return fmt.Errorf("writing ControlPlaneMachineSet %s: %w", r.key, err)
	}
	r.meters.writes.WithLabelValues(string(u.Write)).Inc()
	log.FromContext(ctx).Info("Generated set written", "set", r.key, "deed", u.Write, "says", u.Note)
	r.recorder.Eventf(about, nil, corev1.EventTypeNormal, reasons()[u.Write], string(u.Write), "%s", eventnote.Cut(u.Note, eventnote.Longest))
	return nil
}

func (r *reconciler) remove(ctx context.Context, set *unstructured.Unstructured) error {
	return client.IgnoreNotFound(versioned.Delete(ctx, r.writer, set, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// refused reports whether the API server refuses a write, for example because another webhook or policy denies it.
func refused(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) }

// refusal reports a refused write. If the report fails, it returns the error as the end of a sentence, else "".
func (r *reconciler) refusal(ctx context.Context, set *unstructured.Unstructured, u generator.Plan, why error) string {
	u.Refusal = &generator.Refusal{Reason: reasonWriteRefused, Message: fmt.Sprintf("The API server refuses the generated set. Poundlock tries again: %v", why)}
	if set != nil {
		u.Condition = metav1.Condition{Type: generator.ConditionGenerated, Status: metav1.ConditionFalse, Reason: reasonWriteRefused, Message: u.Refusal.Message}
	}
	if err := r.report(ctx, set, u); err != nil {
		return fmt.Sprintf("; reporting this failed too: %v", err)
	}
	return ""
}

// report reports the set's state: in its condition if the set exists, in an event if it does not.
func (r *reconciler) report(ctx context.Context, set *unstructured.Unstructured, u generator.Plan) error {
	r.meters.refused(u.Refusal)
	if set != nil {
		r.lastRefusal = ""
		return r.condition(ctx, set, u.Condition)
	}
	if u.Refusal != nil && r.lastRefusal != u.Refusal.Message {
		r.lastRefusal = u.Refusal.Message
		log.FromContext(ctx).Info("No set can be generated", "set", r.key, "reason", u.Refusal.Reason, "message", u.Refusal.Message)
		r.recorder.Eventf(r.named(), nil, corev1.EventTypeWarning, string(u.Refusal.Reason), "Generate", "%s", eventnote.Cut(u.Refusal.Message, eventnote.Longest))
	}
	return nil
}

// condition writes the condition, if there is one and it differs from the stored one. The operator's conditions stay.
func (r *reconciler) condition(ctx context.Context, set *unstructured.Unstructured, c metav1.Condition) error {
	if c.Type == "" {
		return nil
	}
	all := conditionlist.Of(set)
	before, now := conditionlist.Find(all, c.Type), conditionlist.New(c.Type, c.Status, c.Reason, c.Message)
	now["observedGeneration"] = set.GetGeneration()
	merged, changed := conditionlist.Set(all, now, r.now())
	if !changed {
		return nil
	}
	if err := versioned.PatchStatus(ctx, r.writer, set.DeepCopy(), map[string]any{"status": map[string]any{"conditions": merged}}, owner); err != nil {
		return fmt.Errorf("writing the condition %s of ControlPlaneMachineSet %s: %w", c.Type, r.key, err)
	}
	if c.Status == metav1.ConditionFalse && (before["reason"] != c.Reason || before["status"] != string(c.Status)) {
		r.recorder.Eventf(set, nil, corev1.EventTypeWarning, c.Reason, "Generate", "%s", eventnote.Cut(c.Message, eventnote.Longest))
	}
	return nil
}
