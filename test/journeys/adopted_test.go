// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

// When a MachineSet that is not authoritative is deleted, its Machines stay. Another set that selects such a Machine would adopt it, and delete Machines if it
// then has too many. A person's deletion of such a set is refused, and anybody else's deletion waits.
func TestADeletedSetKeepsWhatAnotherWouldAdopt(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	for name, n := range map[string]int{"leaves": 2, "takes": 1} {
		if a := kubectl(t, testcluster.MachineSet(name, n), "create", "-f", "-"); !a.ok {
			t.Fatal(a.err)
		}
	}
	leaves, takes := mapiSet("leaves"), mapiSet("takes")
	eventually(t, "the Machines of one set run", func() string { return field(t, leaves, ".status.availableReplicas") }, "2")
	eventually(t, "the Machine of the other runs", func() string { return field(t, takes, ".status.availableReplicas") }, "1")
	all := slices.Concat(machinesOf(t, leaves.name), machinesOf(t, takes.name))
	eventually(t, "all are mirrored", func() string {
		for _, m := range all {
			if is := condition(t, mapiMachine(m), "Synchronized"); is != "True" {
				return m + ": " + is
			}
		}
		return ""
	}, "")
	request(t, leaves, "ClusterAPI")
	authorityIs(t, leaves, "ClusterAPI")
	settled(t, leaves)

	label := func(value string) string {
		return fmt.Sprintf(`{"metadata":{"labels":{"machine.openshift.io/cluster-api-machineset":%q}}}`, value)
	}
	chosen := mapiMachine(all[0])
	warned := strings.Join(must(t, append(chosen.args("patch"), "--type=merge", "-p", label(takes.name))...).warnings(), "\n")
	if !strings.Contains(warned, "MachineSet leaves no longer selects this Machine") {
		t.Errorf("no warning that the set creates another one: %s", warned)
	}
	refused(t, kubectl(t, "", leaves.args("delete", "--wait=false")...), "MachineSet takes selects Machine "+chosen.name)
	must(t, leaves.args("delete", "--wait=false", "--as=system:serviceaccount:openshift-machine-api:machine-api-controllers", "--as-group=system:masters")...)
	eventually(t, "what the deletion waits for", func() string { return reasonOf(t, leaves, "Synchronized") }, "WouldBeAdopted")
	if m := messageOf(t, leaves, "Synchronized"); !strings.Contains(m, chosen.name) || !strings.Contains(m, takes.name) {
		t.Errorf("the condition names neither the Machine nor the other set: %s", m)
	}

	// The user does what the message advises.
	must(t, append(chosen.args("patch"), "--type=merge", "-p", label(leaves.name))...)
	eventually(t, "the set is gone", func() string { return field(t, leaves, ".metadata.name") }, "")
	for _, m := range all {
		if got := instances(m); len(got) != 1 {
			t.Errorf("%s has the instances %v", m, got)
		}
	}
	must(t, takes.args("delete")...)
	must(t, capiSet(leaves.name).args("delete")...)
	for _, m := range all {
		must(t, mapiMachine(m).args("delete", "--wait=false", "--ignore-not-found")...)
		gone(t, m)
	}
}
