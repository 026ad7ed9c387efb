// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// TestTheOperatorsStatusIsWrittenOnce reads back what was written, as the API server keeps it: nothing is left to write then.
func TestTheOperatorsStatusIsWrittenOnce(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC)
	r := &reconciler{pair: authority.Pair{MachineAPI: "openshift-machine-api"}, version: "4.22.0", now: func() time.Time { return noon }}
	s := &state{operator: &configv1.ClusterOperator{}}
	foreign := configv1.ClusterOperatorStatusCondition{Type: "RecentBackup", Status: configv1.ConditionTrue}
	s.operator.Status.Conditions = []configv1.ClusterOperatorStatusCondition{foreign}

	written, err := json.Marshal(r.operatorStatus(s))
	if err != nil {
		t.Fatal(err)
	}
	stored := &state{operator: &configv1.ClusterOperator{}}
	if err := json.Unmarshal(written, &stored.operator.Status); err != nil {
		t.Fatal(err)
	}
	if now := stored.operator.Status; len(now.Conditions) != 5 || now.Conditions[0].Type != foreign.Type ||
		len(now.RelatedObjects) != 4 || len(now.Versions) != 1 {
		t.Errorf("not a foreign condition and four of ours, four objects and one version: %s", written)
	}
	if again := r.operatorStatus(stored); len(again) > 0 {
		t.Errorf("it is written again: %s", cmp.Diff(map[string]any{}, again))
	}
}

// TestTheSetsStatusIsWrittenOnce does so of the set, whose conditions others write too.
func TestTheSetsStatusIsWrittenOnce(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC)
	r := &reconciler{now: func() time.Time { return noon }}
	plan := controlplane.Make(controlplane.View{Set: &machinev1.ControlPlaneMachineSet{}})
	set := func(status string) *state {
		s := &state{set: &unstructured.Unstructured{}, plan: &plan}
		if err := s.set.UnmarshalJSON([]byte(`{"kind":"ControlPlaneMachineSet","metadata":{"generation":3},"status":` + status + `}`)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	const then = "2026-01-01T00:00:00Z"
	status, err := r.statusOf(set(`{"conditions":[{"type":"Synchronized","status":"True","reason":"R","message":"","lastTransitionTime":"` + then + `"},
		{"type":"Progressing","status":"False","reason":"Before","message":"","lastTransitionTime":"` + then + `"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	stored := set(string(written))
	conditions, err := conditionsOf(stored.set)
	if err != nil || len(conditions) != 4 || conditions[0].Type != "Synchronized" {
		t.Fatalf("not a foreign condition and three of ours: %s, %v", written, err)
	}
	if c := conditions[1]; c.Reason == "Before" || c.LastTransitionTime.UTC().Format(time.RFC3339) != then || c.ObservedGeneration != 3 {
		t.Errorf("another reason of the same status: %v", c)
	}
	if again, err := r.statusOf(stored); len(again) > 0 || err != nil {
		t.Errorf("it is written again: %v, %v", again, err)
	}
}
