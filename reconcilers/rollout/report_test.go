// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"

	"github.com/poundlock/poundlock/policies/authority"
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
	if now := stored.operator.Status; len(now.Conditions) != 5 || now.Conditions[0].Type != foreign.Type || len(now.RelatedObjects) != 4 || len(now.Versions) != 1 {
		t.Errorf("not a foreign condition and four of ours, four objects and one version: %s", written)
	}
	if again := r.operatorStatus(stored); len(again) > 0 {
		t.Errorf("it is written again: %s", cmp.Diff(map[string]any{}, again))
	}
}
