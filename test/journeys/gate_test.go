// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
)

// The feature gate MachineAPIMigration is turned off while Cluster API is authoritative for a set (a downgrade, a mistake). The Machine API's controllers then
// act on the objects of both APIs again, because they do not look at which API is authoritative. Both sets would scale. Admission lets only one scale.
func TestTheGateGoesOffUnderASetOfClusterAPI(t *testing.T) {
	stories.Long(t)
	story(t)
	set := newSet(t, "gate-off", 2)
	move(t, set, "ClusterAPI")
	for _, m := range machinesOf(t, set.name) {
		move(t, mapiMachine(m), "ClusterAPI")
	}
	if err := stage.Gate(false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Gate(true); err != nil {
			t.Error(err)
		}
	})
	for _, replicas := range []string{"4", "1", "3"} {
		must(t, capiSet(set.name).args("scale", "--replicas="+replicas)...)
		eventually(t, "the Machines of Cluster API", func() string { return field(t, capiSet(set.name), ".status.availableReplicas") }, replicas)
		eventually(t, "the Machines of the Machine API", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, replicas)
		atRest(t, set)
		for _, m := range machinesOf(t, set.name) {
			if all := stage.Cloud.InstancesOf(m); len(all) != 1 {
				t.Errorf("instances of %s at %s replicas: %v", m, replicas, all)
			}
		}
	}
	if got := machinesOf(t, set.name); len(slices.Compact(got)) != 3 {
		t.Errorf("Machines in the end: %v", got)
	}
}
