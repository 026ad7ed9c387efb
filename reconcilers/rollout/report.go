// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/operatorconditions"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// report returns the writes to the status of the set and of the ClusterOperator, if these differ from the state. Entries of other writers stay.
func (r *reconciler) report(s *state) []write {
	var out []write
	status, err := r.statusOf(s)
	if err != nil {
		return append(out, func(context.Context) error { return err })
	}
	if len(status) > 0 {
		out = append(out, func(ctx context.Context) error {
			if err := versioned.PatchStatus(ctx, r.writer, s.set.DeepCopy(), map[string]any{"status": status}); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("writing the status of the ControlPlaneMachineSet: %w", err)
			}
			r.recordConditions(s, status)
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

// statusOf returns those parts of the set's status that must change so that the status shows the plan.
func (r *reconciler) statusOf(s *state) (map[string]any, error) {
	if s.plan == nil {
		return nil, nil
	}
	conditions, err := conditionsOf(s.set)
	if err != nil {
		return nil, err
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
	changed := false
	for _, c := range s.plan.Conditions() {
		c.ObservedGeneration, c.LastTransitionTime = s.set.GetGeneration(), metav1.NewTime(r.now())
		changed = meta.SetStatusCondition(&conditions, c) || changed
	}
	if changed {
		out["conditions"] = conditions
	}
	return out, nil
}

// operatorStatus returns those parts of the ClusterOperator's status that must change.
func (r *reconciler) operatorStatus(s *state) map[string]any {
	if s.deleting() {
		return nil // the ClusterOperator is updated once the set is gone
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

// related returns the references for status.relatedObjects: what an administrator looks at, and what a must-gather collects.
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

// conditionsOf returns a copy of the set's conditions, because an object of the cache must not be changed.
func conditionsOf(set *unstructured.Unstructured) ([]metav1.Condition, error) {
	var o struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(set.Object, &o); err != nil {
		return nil, fmt.Errorf("reading the conditions of the ControlPlaneMachineSet: %w", err)
	}
	return o.Status.Conditions, nil
}

// recordConditions records events about what a user may have to fix: that the set is degraded, and which hook it waits for.
func (r *reconciler) recordConditions(s *state, written map[string]any) {
	now, ok := written["conditions"].([]metav1.Condition)
	before, err := conditionsOf(s.set)
	if !ok || err != nil {
		return
	}
	for _, c := range now {
		if was := meta.FindStatusCondition(before, c.Type); was != nil && *was == c || c.Status != metav1.ConditionTrue {
			continue
		}
		message := eventnote.Cut(c.Message, eventnote.Longest)
		switch {
		case c.Type == controlplane.Degraded:
			r.recorder.Eventf(s.set, nil, corev1.EventTypeWarning, c.Reason, "Stop", "%s", message)
		case c.Reason == string(controlplane.WaitingForHook):
			r.recorder.Eventf(s.set, nil, corev1.EventTypeNormal, c.Reason, "Wait", "%s", message)
		}
	}
}
