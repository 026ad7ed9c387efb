// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestCount has two sets of the name a: m in the Machine API and c in Cluster API. Cluster API's set was asked for three Machines.
func TestCount(t *testing.T) {
	const byMachineAPI, byClusterAPI = `},"status":{"authoritativeAPI":"MachineAPI"}`, `},"status":{"authoritativeAPI":"ClusterAPI"}`
	run, born := member("x", "m", byMachineAPI), member("y", "c", "}")
	for name, c := range map[string]struct {
		machineAPI, clusterAPI []string
		created                string
		want                   *policies.OwnerCount
	}{
		"every Machine has its mirror":              {machineAPI: []string{run}, clusterAPI: []string{member("x", "c", "}"), born}, want: &policies.OwnerCount{Replicas: 3, Counted: 2}},
		"Machine API runs none":                     {clusterAPI: []string{born}},
		"the mirror of one is gone":                 {machineAPI: []string{run}, clusterAPI: []string{born}, want: &policies.OwnerCount{Replicas: 3, Counted: 1, Unmirrored: []string{"x"}}},
		"the mirror itself is created":              {machineAPI: []string{run}, clusterAPI: []string{born}, created: "x"},
		"the mirror has no owner yet":               {machineAPI: []string{run}, clusterAPI: []string{`{"metadata":{"name":"x","labels":{"set":"a"}}}`}, want: &policies.OwnerCount{Replicas: 3, Unmirrored: []string{"x"}}},
		"the mirror is another set's":               {machineAPI: []string{run}, clusterAPI: []string{member("x", "other", "}")}, want: &policies.OwnerCount{Replicas: 3, Unmirrored: []string{"x"}}},
		"the mirror is being deleted":               {machineAPI: []string{run}, clusterAPI: []string{member("x", "c", `,"deletionTimestamp":"2026-01-01T00:00:00Z"}`)}, want: &policies.OwnerCount{Replicas: 3}},
		"the Machine is being deleted":              {machineAPI: []string{member("x", "m", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`+byMachineAPI)}},
		"the Machine was detached from its set":     {machineAPI: []string{member("x", "m", `,"annotations":{"poundlock.openshift.io/detached":"true"}`+byMachineAPI)}},
		"the Machine is another set's":              {machineAPI: []string{member("x", "other", byMachineAPI)}},
		"Cluster API is authoritative for it":       {machineAPI: []string{member("x", "m", byClusterAPI)}},
		"the Machine leaves Machine API":            {machineAPI: []string{member("x", "m", `},"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}`)}, want: &policies.OwnerCount{Replicas: 3, Unmirrored: []string{"x"}}},
		"the Machine comes from Cluster API":        {machineAPI: []string{member("x", "m", `},"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}`)}},
		"the Machine was restored without a status": {machineAPI: []string{member("x", "m", `},"spec":{"authoritativeAPI":"MachineAPI"}`)}, want: &policies.OwnerCount{Replicas: 3, Unmirrored: []string{"x"}}},
	} {
		set := `{"metadata":{"name":"a","uid":%q},"spec":{"replicas":3,"selector":{"matchLabels":{"set":"a"}}}}`
		roster := authority.Roster{
			Sets:     map[authority.API]*policies.Object{authority.MachineAPI: parse(t, fmt.Sprintf(set, "m")), authority.ClusterAPI: parse(t, fmt.Sprintf(set, "c"))},
			Machines: map[authority.API][]*policies.Object{},
		}
		for _, raw := range c.machineAPI {
			roster.Machines[authority.MachineAPI] = append(roster.Machines[authority.MachineAPI], parse(t, raw))
		}
		for _, raw := range c.clusterAPI {
			roster.Machines[authority.ClusterAPI] = append(roster.Machines[authority.ClusterAPI], parse(t, raw))
		}
		if diff := cmp.Diff(c.want, roster.Count(c.created), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFull has the same sets. Cluster API's set has y and z, and has lost the mirrors of some of a, b and c.
func TestFull(t *testing.T) {
	const byMachineAPI = `},"status":{"authoritativeAPI":"MachineAPI"}`
	for it, c := range map[string]struct {
		run     []string
		others  []string
		machine string
		full    bool
	}{
		"there is room for one":             {run: []string{"a"}, others: []string{"y", "z"}, machine: "a"},
		"there is none":                     {run: []string{"a"}, others: []string{"x", "y", "z"}, machine: "a", full: true},
		"the first of two gets the room":    {run: []string{"a", "b"}, others: []string{"y", "z"}, machine: "a"},
		"the second of two does not":        {run: []string{"a", "b"}, others: []string{"y", "z"}, machine: "b", full: true},
		"the second, once the first has it": {run: []string{"a", "b"}, others: []string{"a", "z"}, machine: "b"},
		"all mirrors are gone":              {run: []string{"a", "b", "c"}, machine: "c"},
	} {
		set := `{"metadata":{"name":"a","namespace":"n","uid":%q},"spec":{"replicas":3,"selector":{"matchLabels":{"set":"a"}}}}`
		roster := authority.Roster{
			Sets:     map[authority.API]*policies.Object{authority.MachineAPI: parse(t, fmt.Sprintf(set, "m")), authority.ClusterAPI: parse(t, fmt.Sprintf(set, "c"))},
			Machines: map[authority.API][]*policies.Object{},
		}
		for _, name := range c.run {
			roster.Machines[authority.MachineAPI] = append(roster.Machines[authority.MachineAPI], parse(t, member(name, "m", byMachineAPI)))
		}
		for _, name := range c.others {
			roster.Machines[authority.ClusterAPI] = append(roster.Machines[authority.ClusterAPI], parse(t, member(name, "c", "}")))
		}
		if why := roster.Full(c.machine); (why != "") != c.full {
			t.Errorf("%s: %q", it, why)
		}
	}
}
