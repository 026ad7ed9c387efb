// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/testcluster"
)

// This covers the rows of converting › Summary of the rules about a Machine's deletion, and what DESIGN §3.3 adds to them. In each case a Machine is deleted on
// one side while one side is authoritative. The test then only checks what is left, on both sides and in the cloud.
func TestDeletingAMachineInEachRowOfTheRules(t *testing.T) {
	together(t)
	for _, row := range []struct {
		sentence      string
		owned         bool
		authority, on string
		warns         string
		machineAPI    bool // whether it exists afterwards
		clusterAPI    bool
		instance      bool
	}{
		{sentence: "an owned mirror of the Machine API takes the machine with it", owned: true, authority: "ClusterAPI", on: mapi, warns: "authority/delete-propagates"},
		{sentence: "an unowned mirror of the Machine API goes alone", authority: "ClusterAPI", on: mapi, warns: "authority/delete-detached", clusterAPI: true, instance: true},
		{sentence: "an owned mirror of Cluster API takes the machine with it", owned: true, authority: "MachineAPI", on: capi, warns: "authority/delete-propagates"},
		{sentence: "an unowned mirror of Cluster API is recreated", authority: "MachineAPI", on: capi, warns: "authority/delete-recreated", machineAPI: true, clusterAPI: true, instance: true},
		{sentence: "an owned Machine of the Machine API authoritative takes its mirror with it", owned: true, authority: "MachineAPI", on: mapi},
		{sentence: "an unowned Machine of the Machine API authoritative takes its mirror with it", authority: "MachineAPI", on: mapi},
		{sentence: "an owned Machine of Cluster API authoritative takes its mirror with it", owned: true, authority: "ClusterAPI", on: capi},
		{sentence: "an unowned Machine of Cluster API authoritative takes its mirror with it", authority: "ClusterAPI", on: capi},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			together(t)
			story(t)
			name := newMachine(t, row.owned, row.authority)
			before := instances(name)
			o, uid := mapiMachine(name), ""
			if row.on == capi {
				o = capiMachine(name)
			}
			uid = field(t, o, ".metadata.uid")

			warned := must(t, o.args("delete", "--wait=false")...).warnings()
			if text := strings.Join(warned, "\n"); row.warns != "" && !strings.Contains(text, row.warns) || row.warns == "" && text != "" {
				t.Errorf("warnings: %q, want one by %q", warned, row.warns)
			}
			eventually(t, "the deleted object is gone, or another", func() string { return fmt.Sprint(field(t, o, ".metadata.uid") == uid) }, "false")
			remains(t, mapiMachine(name), row.machineAPI)
			remains(t, capiMachine(name), row.clusterAPI)
			remains(t, awsMachine(name), row.clusterAPI)
			want := []string{}
			if row.instance {
				want = before
			}
			eventually(t, "the instances of "+name, func() string { return fmt.Sprint(instances(name)) }, fmt.Sprint(want))
			if row.machineAPI {
				settled(t, mapiMachine(name))
			}
		})
	}
}

// newMachine creates a Machine, on its own or of a set, waits until it runs under the given authority, and returns its name.
func newMachine(t *testing.T, owned bool, authority string) string {
	t.Helper()
	name := "row-" + fmt.Sprint(time.Now().UnixNano()%1e9)
	if owned {
		newSet(t, name, 1)
		name = machinesOf(t, name)[0]
	} else {
		lone(t, name)
	}
	m := mapiMachine(name)
	if authority == "ClusterAPI" {
		move(t, m, authority)
	}
	settled(t, m)
	return name
}

// lone creates a Machine of the Machine API that nothing owns, like those of worker-a, and waits until it runs and is mirrored.
func lone(t *testing.T, name string) {
	t.Helper()
	if a := kubectl(t, loneManifest(t, name), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	eventually(t, name+" runs", func() string { return field(t, mapiMachine(name), ".status.phase") }, "Running")
	eventually(t, name+" is mirrored", func() string { return condition(t, mapiMachine(name), "Synchronized") }, "True")
}

func loneManifest(t *testing.T, name string) string {
	t.Helper()
	var set struct {
		Spec struct {
			Template struct {
				Metadata struct{ Labels map[string]string }
				Spec     map[string]any
			}
		}
	}
	if err := yaml.Unmarshal([]byte(testcluster.MachineSet(name, 0)), &set); err != nil {
		t.Fatal(err)
	}
	labels := set.Spec.Template.Metadata.Labels
	delete(labels, "machine.openshift.io/cluster-api-machineset")
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
		"metadata": map[string]any{"name": name, "namespace": mapi, "labels": labels},
		"spec":     set.Spec.Template.Spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// move requests a move of an object and waits until that has settled.
func move(t *testing.T, o object, api string) {
	t.Helper()
	request(t, o, api)
	authorityIs(t, o, api)
	settled(t, o)
}

func remains(t *testing.T, o object, want bool) {
	t.Helper()
	eventually(t, o.resource+" "+o.name+" is there, and stays", func() string {
		there := field(t, o, ".metadata.name") != "" && field(t, o, ".metadata.deletionTimestamp") == ""
		return fmt.Sprint(there)
	}, fmt.Sprint(want))
}

// instances returns the IDs of a Machine's instances that are not being terminated.
func instances(name string) []string {
	ids := []string{}
	for _, i := range stage.Cloud.InstancesOf(name) {
		if i.State != machinetest.Terminated && i.State != machinetest.ShuttingDown {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// A person deletes the set on the Machine API's side after everything has moved. "The Cluster API equivalent will continue to operate on its own" (converting ›
// Deletion of Machines), whatever the deletion's propagation policy is.
func TestDeletingTheMachineAPISetThatIsNotAuthoritativeLeavesEverythingRunning(t *testing.T) {
	stories.Long(t)
	together(t)
	for _, cascade := range []string{"background", "foreground", "orphan"} {
		t.Run(cascade, func(t *testing.T) {
			together(t)
			story(t)
			set := newSet(t, "tidied-"+cascade, 2)
			machines := machinesOf(t, set.name)
			for _, o := range append([]object{set}, mapiMachine(machines[0]), mapiMachine(machines[1])) {
				move(t, o, "ClusterAPI")
			}
			before := instancesOf(machines)

			must(t, set.args("delete", "--wait=false", "--cascade="+cascade)...)
			eventually(t, "the set is gone", func() string { return field(t, set, ".metadata.name") }, "")
			remains(t, capiSet(set.name), true)
			for _, name := range machines {
				remains(t, mapiMachine(name), cascade == "orphan")
				remains(t, capiMachine(name), true)
				eventually(t, name+" runs", func() string { return field(t, capiMachine(name), ".status.phase") }, "Running")
			}
			if after := instancesOf(machines); !slices.Equal(before, after) {
				t.Errorf("instances before: %q, after: %q", before, after)
			}
			// The Cluster API set works on its own now.
			must(t, capiSet(set.name).args("scale", "--replicas=1")...)
			eventually(t, "one is left", func() string { return fmt.Sprint(len(instancesOf(machines))) }, "1")
		})
	}
}

func instancesOf(machines []string) []string {
	var ids []string
	for _, name := range machines {
		ids = append(ids, instances(name)...)
	}
	return ids
}

func TestDeletingTheClusterAPISetThatIsNotAuthoritativeMakesItAgain(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "made-again", 2)
	machines := machinesOf(t, set.name)
	before, uid := instancesOf(machines), field(t, capiSet(set.name), ".metadata.uid")

	must(t, capiSet(set.name).args("delete", "--wait=false")...)
	eventually(t, "another set", func() string {
		now := field(t, capiSet(set.name), ".metadata.uid")
		return fmt.Sprint(now != "" && now != uid)
	}, "true")
	for _, name := range machines {
		remains(t, mapiMachine(name), true)
		remains(t, capiMachine(name), true)
	}
	if after := instancesOf(machines); !slices.Equal(before, after) {
		t.Errorf("instances before: %q, after: %q", before, after)
	}
	move(t, set, "ClusterAPI")
	must(t, capiSet(set.name).args("scale", "--replicas=3")...)
	eventually(t, "a third Machine", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, "3")
}

// A deletion cancels a move back, and somebody takes Cluster API's finalizer off the Machine. The same is done to a Machine at rest. The instance, whose end
// somebody asked for, is terminated all the same, and nothing is left behind.
func TestADeletionWhoseFinalizerIsRemovedByHandEndsTheInstance(t *testing.T) {
	stories.Long(t)
	for _, moving := range []bool{true, false} {
		t.Run(map[bool]string{true: "on the move", false: "at rest"}[moving], func(t *testing.T) {
			if !moving {
				together(t) // else the stage is frozen
			}
			story(t)
			name := map[bool]string{true: "stripped-moving", false: "stripped-resting"}[moving]
			lone(t, name)
			m, c, infra := mapiMachine(name), capiMachine(name), awsMachine(name)
			move(t, m, "ClusterAPI")
			thaw := func() {}
			if moving {
				stage.Freeze() // so that the provider does not acknowledge the pause
				thaw = sync.OnceFunc(stage.Thaw)
				t.Cleanup(thaw)
				request(t, m, "MachineAPI")
				eventually(t, "the move waits for the provider's pause", func() string { return reasonOf(t, m, "AuthoritySettled") }, "WaitingForPause")
			}
			must(t, c.args("delete", "--wait=false")...)
			if moving {
				eventually(t, "the move is cancelled", func() string { return field(t, m, ".status.authoritativeAPI") }, "ClusterAPI")
			}
			if a := kubectl(t, "",
				append(c.args("patch"), "--type=merge", "-p", `{"metadata":{"finalizers":["sync.machine.openshift.io/finalizer"]}}`)...); moving && !a.ok {
				t.Error(a.err)
			}
			thaw()
			for _, o := range []object{infra, c, m} {
				eventually(t, o.resource+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
			}
			if left := instances(name); len(left) != 0 {
				t.Errorf("instances are left, without an object: %v", left)
			}
		})
	}
}

// A person takes a Machine out of its set's selector, and the set is deleted. The set does not wait for that Machine. The garbage collector deletes the Machine
// afterwards.
func TestASetIsDeletedThatNoLongerSelectsOneOfItsMachines(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "unselected", 2)
	machines := machinesOf(t, set.name)
	must(t, append(mapiMachine(machines[0]).args("label"), "machine.openshift.io/cluster-api-machineset-")...)
	eventually(t, "the set makes another", func() string { return fmt.Sprint(running(set.name)) }, "3")
	for _, m := range machinesOf(t, set.name) {
		move(t, mapiMachine(m), "ClusterAPI")
	}
	move(t, mapiMachine(machines[0]), "ClusterAPI")
	move(t, set, "ClusterAPI")
	must(t, capiSet(set.name).args("delete", "--wait=false")...)
	for _, m := range machines {
		gone(t, m)
	}
	eventually(t, "instances", func() string { return fmt.Sprint(running(set.name)) }, "0")
}
