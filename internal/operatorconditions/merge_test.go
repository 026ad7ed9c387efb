// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package operatorconditions_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/internal/operatorconditions"
)

func TestMerge(t *testing.T) {
	then, noon := metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), metav1.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	of := func(kind configv1.ClusterStatusConditionType, status configv1.ConditionStatus, message string, at metav1.Time) configv1.ClusterOperatorStatusCondition {
		return configv1.ClusterOperatorStatusCondition{Type: kind, Status: status, Reason: "R", Message: message, LastTransitionTime: at}
	}
	type list = []configv1.ClusterOperatorStatusCondition
	const degraded, other = configv1.OperatorDegraded, configv1.OperatorUpgradeable
	for name, c := range map[string]struct {
		now, merged list
		changed     bool
	}{
		"the first condition":       {nil, list{of(degraded, "True", "m", noon)}, true},
		"another's condition stays": {list{of(other, "True", "", then)}, list{of(other, "True", "", then), of(degraded, "True", "m", noon)}, true},
		"a status flips in its place": {list{of(degraded, "False", "m", then), of(other, "True", "", then)},
			list{of(degraded, "True", "m", noon), of(other, "True", "", then)}, true},
		"a message changes: the time stays": {list{of(degraded, "True", "before", then)}, list{of(degraded, "True", "m", then)}, true},
		"equal":                             {list{of(degraded, "True", "m", then)}, list{of(degraded, "True", "m", then)}, false},
	} {
		cached := append(list(nil), c.now...)
		merged, changed := operatorconditions.Merge(c.now, list{of(degraded, "True", "m", metav1.Time{})}, noon.Time)
		if diff := cmp.Diff(c.merged, merged); diff != "" || changed != c.changed {
			t.Errorf("%s: changed %t, %s", name, changed, diff)
		}
		if diff := cmp.Diff(cached, c.now); diff != "" {
			t.Errorf("%s: the list was written to: %s", name, diff)
		}
	}
}
