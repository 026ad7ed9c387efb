// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/rollout"
)

// TestTheOperatorGetsItsOptions: what the flags say of ControlPlaneMachineSets is the operator's.
func TestTheOperatorGetsItsOptions(t *testing.T) {
	pairs := authority.Pairs{{MachineAPI: "a", ClusterAPI: "b"}}
	got := Options{Pairs: pairs, ControlPlane: true, MayRecreate: true, NotReadyGrace: 7 * time.Minute, Version: "4.22.0"}.rollout()
	want := rollout.Options{Pairs: pairs, MayRecreate: true, NotReadyGrace: 7 * time.Minute, Version: "4.22.0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCompared: what the mirror made equal once is not equal to what somebody has marked since, whatever the generation.
func TestCompared(t *testing.T) {
	var c compared
	one := types.NamespacedName{Name: "one"}
	has := func(edition uint64, want bool) {
		t.Helper()
		if c.has("Machine", one, edition) != want {
			t.Errorf("edition %d compared: %t, want %t", edition, !want, want)
		}
	}
	has(1, false)
	c.set("Machine", one, 1, true)
	has(1, true)
	has(2, false)
	c.set("Machine", one, 2, true)
	has(1, false)
	has(2, true)
	if c.has("MachineSet", one, 2) {
		t.Error("another kind's pair passes for this one")
	}
	c.set("Machine", one, 2, false)
	has(2, false)
}
