// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/poundlock/poundlock/policies/authority"
)

// "Deleting both sides at once, or while Migrating, ends cleanly": nothing is left, on either side or in the cloud.
func TestDeletingBothSidesAtOnce(t *testing.T) {
	stories.Long(t)
	for _, authoritative := range []string{"MachineAPI", "ClusterAPI"} {
		for _, moving := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s authoritative, on the move: %t", authoritative, moving), func(t *testing.T) {
				if !moving { // else the stage is frozen
					together(t)
				}
				story(t)
				name := strings.ToLower(authoritative) + map[bool]string{true: "-moving", false: ""}[moving]
				set := newSet(t, "both-"+name, 1)
				lone(t, "alone-"+name)
				machines := append(machinesOf(t, set.name), "alone-"+name)
				pairs := []object{set, mapiMachine(machines[0]), mapiMachine(machines[1])}
				if authoritative == "ClusterAPI" {
					for _, o := range pairs {
						move(t, o, authoritative)
					}
				}
				thaw := func() {}
				if moving {
					stage.Freeze() // so that nobody acknowledges the pause
					thaw = sync.OnceFunc(stage.Thaw)
					t.Cleanup(thaw)
					for _, o := range pairs {
						request(t, o, string(authority.API(authoritative).Other()))
						if o != set || authoritative == "MachineAPI" { // Cluster API acknowledges a set's pause at once, without a provider's controller
							authorityIs(t, o, "Migrating")
						}
					}
				}
				for _, o := range []object{set, capiSet(set.name), capiMachine(machines[1]), mapiMachine(machines[1])} {
					must(t, o.args("delete", "--wait=false", "--ignore-not-found")...) // the mirror may be gone already
				}
				thaw()
				for _, m := range machines {
					gone(t, m)
				}
				for _, o := range []object{set, capiSet(set.name)} {
					eventually(t, o.resource+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
				}
			})
		}
	}
}
