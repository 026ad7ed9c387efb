// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/poundlock/poundlock/test/testcluster"
)

// A spot Machine has the label that the Machine API's actuators write, each time they look, to the Machine and for its Node. The Machine's set does not have
// the label.
func TestASpotMachineMovesThereAndBack(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	manifest := strings.Replace(testcluster.MachineSet("spot", 1), "\n          instanceType:", "\n          spotMarketOptions: {}\n          instanceType:", 1)
	if !strings.Contains(manifest, "spotMarketOptions") {
		t.Fatalf("the set is no spot set:\n%s", manifest)
	}
	apply(t, manifest)
	set := mapiSet("spot")
	eventually(t, "its Machine runs", func() string { return field(t, set, ".status.availableReplicas") }, "1")
	name := machinesOf(t, "spot")[0]
	m := mapiMachine(name)
	const label = `.labels.machine\.openshift\.io/interruptible-instance`
	must(t, append(m.args("patch"), "--type=merge", "-p",
		`{"metadata":{"labels":{"machine.openshift.io/interruptible-instance":""}},"spec":{"metadata":{"labels":{"machine.openshift.io/interruptible-instance":""}}}}`)...)
	before := field(t, m, ".spec")

	for _, api := range []string{"ClusterAPI", "MachineAPI"} {
		move(t, m, api)
		after := field(t, m, ".spec")
		if want := strings.Replace(before, `"authoritativeAPI":"MachineAPI"`, `"authoritativeAPI":"`+api+`"`, 1); after != want {
			t.Errorf("its spec under %s was and is\n%s\n%s", api, want, after)
		}
		if all := field(t, m, ".metadata.labels"); !strings.Contains(all, "interruptible-instance") {
			t.Errorf("its labels under %s: %s", api, all)
		}
		if there := field(t, capiMachine(name), ".metadata"+label); there != "" {
			t.Errorf("Cluster API's Machine has the label %q", there)
		}
	}
	if all := stage.Cloud.InstancesOf(name); len(all) != 1 {
		t.Errorf("instances of %s: %v", name, all)
	}
}
