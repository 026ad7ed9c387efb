// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/operatorconditions"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// report writes the state to the set's status and to the ClusterOperator, where they differ. Entries of others stay.
func (r *reconciler) report(s *state) []write {
	var out []write
	if status := r.statusOf(s); len(status) > 0 {
		out = append(out, func(ctx context.Context) error {
			if err := versioned.PatchStatus(ctx, r.writer, s.set.DeepCopy(), map[string]any{"status": status}); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("writing the status of the ControlPlaneMachineSet: %w", err)
			}
			r.tellConditions(s, status)
			return nil
		})
	}
	if s.operator == nil {
		return append(out, r.makeOperator)
	}
	if status := r.operatorStatus(s); len(status) > 0 {
		out = append(out, func(ctx context.Context) error {
			if err := versioned.PatchStatus(ctx, r.writer, s.operator.DeepCopy(), map[string]any{"status": status}); err != nil {
				return fmt.Errorf("writing the status of the ClusterOperator %s: %w", controlplane.OperatorName, err)
			}
			return nil
		})
	}
	return out
}

// statusOf is what of the set's status is not as it is to be.
func (r *reconciler) statusOf(s *state) map[string]any {
	if s.plan == nil {
		return nil
	}
	n := s.plan.Numbers()
	out := map[string]any{}
	for name, value := range map[string]int64{
		"observedGeneration": s.set.GetGeneration(),
		"replicas":           int64(n.Replicas), "readyReplicas": int64(n.Ready), "updatedReplicas": int64(n.Updated), "unavailableReplicas": int64(n.Unavailable),
	} {
		if now, found, _ := unstructured.NestedInt64(s.set.Object, "status", name); now != value || !found {
			out[name] = value
		}
	}
	var want []map[string]any
	for _, c := range s.plan.Conditions() {
		c.ObservedGeneration = s.set.GetGeneration()
		want = append(want, plain(c))
	}
	if merged, changed := r.merged(conditionlist.Of(s.set), want); changed {
		out["conditions"] = merged
	}
	return out
}

// operatorStatus is what of the ClusterOperator's status is not as it is to be.
func (r *reconciler) operatorStatus(s *state) map[string]any {
	if s.deleting() {
		return nil // it is reported once the set is gone
	}
	out, now := map[string]any{}, s.operator.Status
	if merged, changed := operatorconditions.Merge(now.Conditions, controlplane.OperatorConditions(s.plan, s.ungenerated), r.now()); changed {
		out["conditions"] = merged
	}
	if related := r.related(); !slices.Equal(now.RelatedObjects, related) {
		out["relatedObjects"] = related
	}
	if versions := r.versions(); versions != nil && !slices.Equal(now.Versions, versions) {
		out["versions"] = versions
	}
	return out
}

// related are where to look, and what a must-gather takes along.
func (r *reconciler) related() []configv1.ObjectReference {
	return []configv1.ObjectReference{
		{Group: setKind.Group, Resource: controlplane.Resource, Namespace: r.pair.MachineAPI, Name: controlplane.Name},
		{Group: machineKind.Group, Resource: "machines", Namespace: r.pair.MachineAPI},
		{Resource: "nodes"},
		{Resource: "namespaces", Name: r.pair.MachineAPI},
	}
}

func (r *reconciler) versions() []configv1.OperandVersion {
	if r.version == "" {
		return nil
	}
	return []configv1.OperandVersion{{Name: "operator", Version: r.version}}
}

func (r *reconciler) makeOperator(ctx context.Context) error {
	o := object(operatorKind)
	o.SetName(controlplane.OperatorName)
	o.Object["spec"] = map[string]any{}
	if err := r.writer.Create(ctx, o); err != nil {
		return fmt.Errorf("creating the ClusterOperator %s: %w", controlplane.OperatorName, err)
	}
	return nil
}

func (r *reconciler) merged(now []any, want []map[string]any) (all []any, changed bool) {
	for _, c := range want {
		var did bool
		now, did = conditionlist.Set(now, c, r.now())
		changed = changed || did
	}
	return now, changed
}

// plain is a value as the API server keeps it.
func plain(v any) map[string]any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	out := map[string]any{}
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	if n, ok := out["observedGeneration"].(float64); ok {
		out["observedGeneration"] = int64(n)
	}
	return out
}

// tellConditions reports as an event what a person may have to fix: that the set is degraded, and what holds it.
func (r *reconciler) tellConditions(s *state, written map[string]any) {
	now, ok := written["conditions"].([]any)
	if !ok {
		return
	}
	before := conditionlist.Of(s.set)
	for _, item := range now {
		c, _ := item.(map[string]any)
		kind, reason := conditionlist.Text(c, "type"), conditionlist.Text(c, "reason")
		if reflect.DeepEqual(c, conditionlist.Find(before, kind)) || conditionlist.Text(c, "status") != string(metav1.ConditionTrue) {
			continue
		}
		message := eventnote.Cut(conditionlist.Text(c, "message"), eventnote.Longest)
		switch {
		case kind == controlplane.Degraded:
			r.recorder.Eventf(s.set, nil, corev1.EventTypeWarning, reason, "Stop", "%s", message)
		case reason == string(controlplane.WaitingForHook):
			r.recorder.Eventf(s.set, nil, corev1.EventTypeNormal, reason, "Wait", "%s", message)
		}
	}
}
