// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestNeighbours(t *testing.T) {
	found := readiness.Finding{Kind: "MachineSet", Name: "a", Readiness: readiness.Ready, Neighbours: []authority.Neighbour{{Who: "machine-config-operator"}}}
	there := found
	there.Readiness = readiness.There
	all := Neighbours([]readiness.Finding{found, there, found})
	if len(all) != 1 || all[0].Who != "machine-config-operator" || len(all[0].Objects) != 3 {
		t.Errorf("%+v", all)
	}
}

func TestGroups(t *testing.T) {
	field := func(path string) readiness.Field { return readiness.Field{Path: path, Reason: "no place"} }
	got := Groups([]readiness.Finding{
		{Kind: "Machine", Name: "ready", Readiness: readiness.Ready},
		{Kind: "Machine", Name: "a", Readiness: readiness.Waiting, Reason: "CatchingUp", Message: "later"},
		{Kind: "MachineSet", Name: "s", Readiness: readiness.Blocked, Reason: readiness.ReasonFields, Fields: []readiness.Field{field("spec.template.spec.providerSpec.value.disks[0].x"), field("spec.template.spec.providerSpec.value.disks[1].x")}},
		{Kind: "Machine", Name: "n", Readiness: readiness.Blocked, Reason: readiness.ReasonFields, Message: "as the mirror had it"},
		{Kind: "Machine", Name: "m", Readiness: readiness.Blocked, Reason: readiness.ReasonFields, Fields: []readiness.Field{field("spec.providerSpec.value.disks[7].x")}},
	})
	there := Groups([]readiness.Finding{
		{Kind: "Machine", Name: "a", Readiness: readiness.There},
		{Kind: "Machine", Name: "b", Readiness: readiness.There, Reason: readiness.ReasonFields, Message: "its mirror does not follow it"},
	})
	if len(there) != 1 || there[0].Message != "its mirror does not follow it" || strings.Join(there[0].refs, " ") != "machine/b" {
		t.Errorf("of those that are there: %+v", there)
	}
	if len(got) != 3 || got[1].Message != "as the mirror had it" || got[0].Field != "disks[].x" || strings.Join(got[0].refs, " ") != "machineset/s machine/m" || got[2].Reason != "CatchingUp" {
		t.Errorf("%+v", got)
	}
}

// What a person has to do first is shown without -o wide, once for all objects that need it.
func TestPreparations(t *testing.T) {
	all := Preparations([]readiness.Finding{
		{Kind: "MachineSet", Name: "a", Readiness: readiness.Ready, Preparations: []string{"boot data", "host name"}},
		{Kind: "MachineSet", Name: "b", Readiness: readiness.Blocked, Preparations: []string{"host name"}},
		{Kind: "MachineSet", Name: "c", Readiness: readiness.There, Preparations: []string{"host name"}},
	})
	if len(all) != 2 || all[1].Text != "host name" || strings.Join(all[1].Objects, " ") != "machineset/a machineset/b" {
		t.Errorf("%+v", all)
	}
}
