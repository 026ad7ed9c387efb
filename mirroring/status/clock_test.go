// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/internal/conditionlist"
)

// A clock that jumps, either way, changes nothing that has been said already, and moves only the time of what is said anew.
func TestAClockThatJumps(t *testing.T) {
	const noon = "2026-11-21T12:00:00Z"
	clock, _ := time.Parse(time.RFC3339, noon)
	c := Reporter{Now: clock}
	value := synchronizedCondition(metav1.ConditionTrue, "ResourceSynchronized", "Cluster API mirrors Machine API")
	have, changed := conditionlist.Set(nil, value, c.Now)
	if !changed {
		t.Fatal("nothing was said")
	}
	for _, jump := range []time.Duration{400 * 24 * time.Hour, -800 * 24 * time.Hour} {
		c.Now = c.Now.Add(jump)
		if again, changed := conditionlist.Set(have, value, c.Now); changed {
			t.Errorf("after a jump of %s it is said again: %v", jump, again)
		}
	}
	other, _ := conditionlist.Set(have, synchronizedCondition(metav1.ConditionFalse, "MirrorRefused", "no"), c.Now)
	if at := conditionlist.Text(other[0].(map[string]any), "lastTransitionTime"); at == noon {
		t.Error("what was said anew has the old time")
	}
}
