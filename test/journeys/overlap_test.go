// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

// Two MachineSets have one selector, and different APIs are authoritative for them. The Machine of the second set moves to the API of the first, which is full.
// While it is on its way, somebody deletes the set's mirror there, before or after the request. The first set must not adopt the Machine while the mirror is
// recreated: it would delete one of its Machines.
func TestAMachineMovesWhileItsSetIsRecreated(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	for name, requestFirst := range map[string]bool{"overlap-a": true, "overlap-b": false} {
		first := newSet(t, name, 1)
		move(t, first, "ClusterAPI")
		if m := machinesOf(t, name); len(m) == 1 {
			move(t, mapiMachine(m[0]), "ClusterAPI")
		}
		second := mapiSet(name + "-copy")
		manifest := strings.Replace(testcluster.MachineSet(name, 1), "\n  name: "+name+"\n", "\n  name: "+second.name+"\n", 1)
		if a := kubectl(t, manifest, "create", "-f", "-"); !a.ok || !strings.Contains(strings.Join(a.warnings(), "\n"), "MachineSet "+name) {
			t.Fatalf("the copy of the set was created without a warning: %s", a.err)
		}
		eventually(t, "both sets have their Machine", func() string { return fmt.Sprint(len(machinesOf(t, name))) }, "2")
		own := ""
		for _, m := range machinesOf(t, name) {
			if strings.HasPrefix(m, second.name) {
				own = m
			}
		}
		machine := mapiMachine(own)
		eventually(t, "it runs", func() string { return field(t, machine, ".status.phase") }, "Running")
		settled(t, second)
		settled(t, machine)

		remove := func() answer {
			return kubectl(t, "", capiSet(second.name).args("delete", "--wait=false", "--cascade=orphan")...)
		}
		if requestFirst {
			request(t, machine, "ClusterAPI")
			if a := remove(); !a.ok && !strings.Contains(a.err, "selectors-overlap") {
				t.Fatal(a.err)
			}
		} else {
			remove()
			request(t, machine, "ClusterAPI")
		}
		authorityIs(t, machine, "ClusterAPI")
		settled(t, machine)
		eventually(t, "its set counts it in Cluster API", func() string {
			return field(t, capiMachine(own), `.metadata.ownerReferences[?(@.controller==true)].name`)
		}, second.name)
		if ever, now := instancesEver(name), running(name); ever != 2 || now != 2 {
			t.Errorf("%s: there have been %d instances, and %d run", name, ever, now)
		}
	}
}
