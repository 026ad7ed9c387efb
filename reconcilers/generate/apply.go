// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
)

// owner is the field manager of what is generated.
const owner = client.FieldOwner("poundlock-generator")

// The reasons of events and conditions that are the shell's own.
const (
	reasonGenerated    = "Generated"
	reasonFollowed     = "Followed"
	reasonRegenerating = "Regenerating"
	reasonWriteRefused = "WriteRefused"
)

// reasons are those of the events that tell of a deed.
func reasons() map[generator.Write]string {
	return map[generator.Write]string{
		generator.CreateSet: reasonGenerated, generator.PatchSet: reasonFollowed, generator.RecreateSet: reasonRegenerating,
	}
}

// apply does the one next action. Without one, it reports the set's state.
func (r *reconciler) apply(ctx context.Context, set *unstructured.Unstructured, u generator.Plan) error {
	var err error
	about := set
	switch u.Write {
	case generator.CreateSet:
		about = &unstructured.Unstructured{Object: u.Object}
		err = r.writer.Create(ctx, about, owner)
	case generator.PatchSet:
		err = r.patch(ctx, set, u.Patch)
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

// patch is a merge patch of the set as it was read: where somebody has written since, it fails.
func (r *reconciler) patch(ctx context.Context, set *unstructured.Unstructured, body map[string]any) error {
	raw, err := json.Marshal(as(set, body))
	if err != nil {
		return err
	}
	return r.writer.Patch(ctx, set.DeepCopy(), client.RawPatch(types.MergePatchType, raw), owner)
}

// as adds to a patch which version it was made from.
func as(set *unstructured.Unstructured, body map[string]any) map[string]any {
	out := maps.Clone(body)
	metadata, _ := body["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"], metadata["resourceVersion"] = string(set.GetUID()), set.GetResourceVersion()
	out["metadata"] = metadata
	return out
}

func (r *reconciler) remove(ctx context.Context, set *unstructured.Unstructured) error {
	uid, version := set.GetUID(), set.GetResourceVersion()
	err := r.writer.Delete(ctx, set, client.Preconditions{UID: &uid, ResourceVersion: &version}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return client.IgnoreNotFound(err)
}

// refused reports whether the API server refuses a write, as when a webhook or a policy of somebody else's denies it.
func refused(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) }

// refusal reports a refused write, and returns the error that prevents the report.
func (r *reconciler) refusal(ctx context.Context, set *unstructured.Unstructured, u generator.Plan, why error) string {
	u.Refusal = &generator.Refusal{Reason: reasonWriteRefused, Message: fmt.Sprintf("The API server refuses what is generated; it is tried again: %v", why)}
	if set != nil {
		u.Condition = metav1.Condition{Type: generator.ConditionGenerated, Status: metav1.ConditionFalse, Reason: reasonWriteRefused, Message: u.Refusal.Message}
	}
	if err := r.report(ctx, set, u); err != nil {
		return fmt.Sprintf("; and reporting it: %v", err)
	}
	return ""
}

// report reports the set's state: of a set that exists in its condition, of one that does not in an event.
func (r *reconciler) report(ctx context.Context, set *unstructured.Unstructured, u generator.Plan) error {
	r.meters.refused(u.Refusal)
	if set != nil {
		r.told = ""
		return r.condition(ctx, set, u.Condition)
	}
	if u.Refusal != nil && r.told != u.Refusal.Message {
		r.told = u.Refusal.Message
		log.FromContext(ctx).Info("No set can be generated", "set", r.key, "reason", u.Refusal.Reason, "message", u.Refusal.Message)
		r.recorder.Eventf(r.named(), nil, corev1.EventTypeWarning, string(u.Refusal.Reason), "Generate", "%s", eventnote.Cut(u.Refusal.Message, eventnote.Longest))
	}
	return nil
}

// condition writes the condition, if it is to be there and does not say the same already. The operator's conditions beside it are kept.
func (r *reconciler) condition(ctx context.Context, set *unstructured.Unstructured, c metav1.Condition) error {
	if c.Type == "" {
		return nil
	}
	all, _, _ := unstructured.NestedSlice(set.Object, "status", "conditions")
	i, before := find(all, c.Type)
	since := r.now().UTC().Format(timeFormat)
	if before["status"] == string(c.Status) {
		since, _ = before["lastTransitionTime"].(string)
	}
	now := map[string]any{
		"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message,
		"lastTransitionTime": since, "observedGeneration": set.GetGeneration(),
	}
	if same(before, now) {
		return nil
	}
	if i < 0 {
		all = append(all, now)
	} else {
		all[i] = now
	}
	raw, err := json.Marshal(as(set, map[string]any{"status": map[string]any{"conditions": all}}))
	if err != nil {
		return err
	}
	if err := r.writer.Status().Patch(ctx, set.DeepCopy(), client.RawPatch(types.MergePatchType, raw), owner); err != nil {
		return fmt.Errorf("writing the condition %s of ControlPlaneMachineSet %s: %w", c.Type, r.key, err)
	}
	if c.Status == metav1.ConditionFalse && (before["reason"] != c.Reason || before["status"] != string(c.Status)) {
		r.recorder.Eventf(set, nil, corev1.EventTypeWarning, c.Reason, "Generate", "%s", eventnote.Cut(c.Message, eventnote.Longest))
	}
	return nil
}

const timeFormat = "2006-01-02T15:04:05Z"

func find(conditions []any, kind string) (int, map[string]any) {
	for i, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return i, m
		}
	}
	return -1, nil
}

func same(before, now map[string]any) bool {
	for name, v := range now {
		if fmt.Sprint(before[name]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
}
