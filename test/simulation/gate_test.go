// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

func TestGate(t *testing.T) {
	for name, c := range map[string]struct {
		requested, current, after machinev1beta1.MachineAuthority
		act                       bool
		paused                    string
	}{
		"a new object takes its authority from spec and waits": {"ClusterAPI", "", "ClusterAPI", false, ""},
		"the authority acts":              {"MachineAPI", "MachineAPI", "MachineAPI", true, "False AuthoritativeAPIMachineAPI"},
		"a request alone changes nothing": {"ClusterAPI", "MachineAPI", "MachineAPI", true, "False AuthoritativeAPIMachineAPI"},
		"a move pauses":                   {"ClusterAPI", "Migrating", "Migrating", false, "True AuthoritativeAPINotMachineAPI"},
		"Cluster API's authority pauses":  {"ClusterAPI", "ClusterAPI", "ClusterAPI", false, "True AuthoritativeAPINotMachineAPI"},
	} {
		t.Run(name, func(t *testing.T) {
			current := c.current
			var conditions []machinev1beta1.Condition
			act := gate(c.requested, &current, &conditions)
			paused := ""
			for _, p := range conditions {
				paused = string(p.Status) + " " + p.Reason
			}
			if act != c.act || current != c.after || paused != c.paused {
				t.Errorf("act %t, status %q, Paused %q", act, current, paused)
			}
			before := append([]machinev1beta1.Condition(nil), conditions...)
			gate(c.requested, &current, &before)
			if c.current != "" && !cmp.Equal(before, conditions) {
				t.Error("a second look changed the conditions")
			}
		})
	}
}

func TestSurplus(t *testing.T) {
	old, young := time.Unix(100, 0), time.Unix(200, 0)
	set := []candidate{
		{name: "old", running: true, created: old},
		{name: "young", running: true, created: young},
		{name: "starting", created: old},
		{name: "marked", running: true, marked: true, created: old},
	}
	var got []string
	for _, c := range surplus(set, 4, func(c candidate) candidate { return c }) {
		got = append(got, c.name)
	}
	if diff := cmp.Diff([]string{"marked", "starting", "young", "old"}, got); diff != "" {
		t.Error(diff)
	}
	if none := surplus(set, -1, func(c candidate) candidate { return c }); len(none) != 0 {
		t.Errorf("a set that lacks Machines gives up %v", none)
	}
}
