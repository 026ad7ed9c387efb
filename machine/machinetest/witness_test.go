// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

func TestWhoMayCall(t *testing.T) {
	status := func(current, from string, paused corev1.ConditionStatus) machinev1beta1.MachineStatus {
		return machinev1beta1.MachineStatus{
			AuthoritativeAPI: machinev1beta1.MachineAuthority(current), SynchronizedAPI: machinev1beta1.SynchronizedAPI(from),
			Conditions: []machinev1beta1.Condition{{Type: "Paused", Status: paused}},
		}
	}
	for name, c := range map[string]struct {
		caller authority.API
		status machinev1beta1.MachineStatus
		may    bool
	}{
		"the authority":                            {authority.MachineAPI, status("MachineAPI", "MachineAPI", "False"), true},
		"the other side":                           {authority.ClusterAPI, status("MachineAPI", "MachineAPI", "False"), false},
		"Machine API on a new object":              {authority.MachineAPI, status("", "", ""), true},
		"Cluster API on a new object of the other": {authority.ClusterAPI, status("", "", ""), false},
		"the side it comes from, still acting":     {authority.MachineAPI, status("Migrating", "MachineAPI", "False"), true},
		"the side it comes from, that has paused":  {authority.MachineAPI, status("Migrating", "MachineAPI", "True"), false},
		"the side it goes to":                      {authority.ClusterAPI, status("Migrating", "MachineAPI", "True"), false},
		"Cluster API, losing authority":            {authority.ClusterAPI, status("Migrating", "ClusterAPI", "True"), true},
		"Machine API, gaining authority":           {authority.MachineAPI, status("Migrating", "ClusterAPI", "True"), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, requested := range []machinev1beta1.MachineAuthority{machinev1beta1.MachineAuthorityMachineAPI, ""} {
				if got := objection(c.caller, requested, c.status); (got == "") != c.may {
					t.Errorf("requested %q: objection %q, may call: %t", requested, got, c.may)
				}
			}
		})
	}
}
