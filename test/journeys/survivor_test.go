// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"
)

// The Machine API's set, which is not authoritative, is deleted, and Cluster API's set goes on. That set counts the Machine for which Machine API is
// authoritative, creates none in its place, and an edit of its template comes to rest.
func TestTheClusterAPISetThatGoesOnKeepsTheMachineThatMachineAPIRuns(t *testing.T) {
	stories.Long(t)
	together(t)
	for _, cascade := range []string{"background", "orphan"} {
		t.Run(cascade, func(t *testing.T) {
			together(t)
			story(t)
			set := newSet(t, "goes-on-"+cascade, 2)
			machines := machinesOf(t, set.name)
			before := instancesOf(machines)
			move(t, mapiMachine(machines[0]), "ClusterAPI")
			move(t, set, "ClusterAPI")
			must(t, set.args("delete", "--wait=false", "--cascade="+cascade)...)
			eventually(t, "the set is gone", func() string { return field(t, set, ".metadata.name") }, "")
			must(t, append(capiSet(set.name).args("patch"), "--type=merge", "-p",
				`{"spec":{"template":{"metadata":{"annotations":{"example.com/note":"hello"},"labels":{"machine.openshift.io/cluster-api-machine-role":"infra"}}}}}`)...)
			eventually(t, "the edit is on the mirror of the Machine API's Machine", func() string {
				return field(t, capiMachine(machines[1]), `.metadata.annotations.example\.com/note`)
			}, "hello")
			rests(t, set, 3*time.Second)
			for _, name := range machines {
				if owner := field(t, capiMachine(name), `.metadata.ownerReferences[?(@.controller==true)].name`); owner != set.name {
					t.Errorf("%s belongs to %q, want the set", name, owner)
				}
			}
			if got := field(t, capiSet(set.name), ".status.replicas"); got != "2" {
				t.Errorf("the set counts %s Machines, want 2", got)
			}
			if after := instancesOf(machines); !slices.Equal(before, after) {
				t.Errorf("instances before: %q, after: %q", before, after)
			}
			must(t, capiSet(set.name).args("delete", "--wait=false")...)
			for _, name := range machines {
				gone(t, name)
			}
		})
	}
}

// A set is deleted in the middle of its move, on either side. In the end, the set of the authoritative side has all Machines, or no Machine is left.
func TestDeletingASetInMidMove(t *testing.T) {
	stories.Long(t)
	together(t)
	for _, to := range []string{"ClusterAPI", "MachineAPI"} {
		for _, on := range []string{"ClusterAPI", "MachineAPI"} {
			t.Run("to "+to+", deleted on "+on, func(t *testing.T) {
				together(t)
				story(t)
				set := newSet(t, "mid-"+strings.ToLower(to[:4]+"-"+on[:4]), 2)
				machines := machinesOf(t, set.name)
				move(t, mapiMachine(machines[0]), "ClusterAPI")
				if to == "MachineAPI" {
					move(t, set, "ClusterAPI")
				}
				deleted := capiSet(set.name)
				if on == "MachineAPI" {
					deleted = set
				}
				request(t, set, to)
				must(t, deleted.args("delete", "--wait=false")...)
				eventually(t, "a set has all Machines, or none is left", func() string {
					var owned []string
					for _, name := range machines {
						owner := field(t, capiMachine(name), `.metadata.ownerReferences[?(@.controller==true)].name`)
						if owner == "" {
							owner = field(t, mapiMachine(name), `.metadata.ownerReferences[?(@.controller==true)].name`)
						}
						owned = append(owned, owner)
					}
					set := field(t, set, ".metadata.deletionTimestamp") + field(t, capiSet(set.name), ".metadata.deletionTimestamp")
					return fmt.Sprint(set == "", len(instancesOf(machines)) == 0 || !slices.Contains(owned, ""), len(instancesOf(machines)) != 1)
				}, "true true true")
			})
		}
	}
}
