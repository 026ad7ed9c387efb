// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
)

// converting › Test Plan › Full migration E2E, step by step.
func TestScaleUpAndDownOfAMirroredMachineSet(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	// Copy an existing MachineSet in Machine API; observe that the new MachineSet is mirrored in Cluster API.
	set := newSet(t, "copied", 1)
	mirror := capiSet(set.name)
	eventually(t, "the mirror is paused", func() string { return condition(t, mirror, "Paused") }, "True")
	old := machinesOf(t, set.name)[0]
	// Switch the authoritative API to Cluster API.
	move(t, set, "ClusterAPI")
	// Scale up the MachineSet in Cluster API; wait for Machine and mirror Machine to be created.
	must(t, mirror.args("scale", "--replicas=2")...)
	eventually(t, "Machine and mirror", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, "2")
	grown := slices.DeleteFunc(machinesOf(t, set.name), func(name string) bool { return name == old })[0]
	eventually(t, "the new Machine's authority", func() string { return field(t, mapiMachine(grown), ".status.authoritativeAPI") }, "ClusterAPI")
	// Wait for Node to join cluster.
	eventually(t, "its Node has joined", func() string { return fmt.Sprint(field(t, mapiMachine(grown), ".status.nodeRef.name") != "") }, "true")
	node := field(t, mapiMachine(grown), ".status.nodeRef.name")
	if same := field(t, capiMachine(grown), ".status.nodeRef.name"); same != node {
		t.Errorf("the Machine API names the Node %q, Cluster API %q", node, same)
	}
	eventually(t, "replicas of the mirror", func() string { return field(t, set, ".status.availableReplicas") }, "2")
	// Scale down MachineSet in Cluster API; observe scale down successfully: first the new Machine, then the one that the Machine API still runs.
	must(t, append(capiMachine(grown).args("annotate"), "cluster.x-k8s.io/delete-machine=yes")...)
	must(t, mirror.args("scale", "--replicas=1")...)
	gone(t, grown)
	eventually(t, "its Node is gone", func() string {
		return field(t, object{"", "nodes", node}, ".metadata.name")
	}, "")
	must(t, mirror.args("scale", "--replicas=0")...)
	gone(t, old)
	// Remove new MachineSet.
	must(t, mirror.args("delete", "--wait=false")...)
	for _, o := range []object{set, mirror} {
		eventually(t, o.resource+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
}

// gone waits until nothing is left of a Machine, on either side or in the cloud.
func gone(t *testing.T, name string) {
	t.Helper()
	for _, o := range []object{capiMachine(name), awsMachine(name), mapiMachine(name)} {
		eventually(t, o.resource+" "+name+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
	eventually(t, "the instances of "+name, func() string { return fmt.Sprint(instances(name)) }, "[]")
}

func TestASetIsScaledJustBeforeAndJustAfterTheRequestToMoveIt(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "in-a-hurry", 1)
	for i, api := range []string{"ClusterAPI", "MachineAPI"} {
		was, is := set, capiSet(set.name)
		if api == "MachineAPI" {
			was, is = is, was
		}
		up, down := 2+i, 1+i
		must(t, was.args("scale", fmt.Sprintf("--replicas=%d", up))...)
		request(t, set, api)
		// The request may come before or after authority begins to move. It is then carried out or refused as a whole.
		a := kubectl(t, "", was.args("scale", fmt.Sprintf("--replicas=%d", down))...)
		want := up
		if a.ok {
			want = down
		}
		authorityIs(t, set, api)
		settled(t, set)
		eventually(t, "replicas on the side that is now authoritative", func() string { return field(t, is, ".spec.replicas") }, fmt.Sprint(want))
		eventually(t, "Machines", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, fmt.Sprint(want))
		eventually(t, "available", func() string { return field(t, set, ".status.availableReplicas") }, fmt.Sprint(want))
	}
}

// A set whose Machines are of both APIs keeps its count, and deletes a Machine of either API (converting › Scenarios with mixed Machines).
func TestAMixedSetGivesUpMachinesOfEitherAPI(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "mixed", 2)
	machines := machinesOf(t, set.name)
	moved, stayed := machines[0], machines[1]
	move(t, mapiMachine(moved), "ClusterAPI")

	// The Machine API's set deletes the Machine that Cluster API runs.
	must(t, append(capiMachine(moved).args("annotate"), "cluster.x-k8s.io/delete-machine=yes")...)
	eventually(t, "the mark has come over", func() string {
		return field(t, mapiMachine(moved), `.metadata.annotations.machine\.openshift\.io/delete-machine`)
	}, "yes")
	must(t, set.args("scale", "--replicas=1")...)
	gone(t, moved)
	if left := machinesOf(t, set.name); !slices.Equal(left, []string{stayed}) {
		t.Fatalf("Machines left: %q, want %s", left, stayed)
	}
	// Cluster API's set deletes the Machine that the Machine API runs.
	move(t, set, "ClusterAPI")
	must(t, capiSet(set.name).args("scale", "--replicas=2")...)
	eventually(t, "a second Machine runs", func() string { return field(t, set, ".status.availableReplicas") }, "2")
	must(t, append(mapiMachine(stayed).args("annotate"), "machine.openshift.io/delete-machine=yes")...)
	eventually(t, "the mark has come over", func() string {
		return field(t, capiMachine(stayed), `.metadata.annotations.cluster\.x-k8s\.io/delete-machine`)
	}, "yes")
	must(t, capiSet(set.name).args("scale", "--replicas=1")...)
	gone(t, stayed)
	eventually(t, "the other stays", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, "1")
}

// converting › Creation of new Machines: a Machine API set may create Machines for which Cluster API is authoritative from the start.
func TestATemplateMakesMachinesThatAreClusterAPIsFromBirth(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "born-over-there", 0)
	must(t, append(set.args("patch"), "--type=merge", "-p", `{"spec":{"template":{"spec":{"authoritativeAPI":"ClusterAPI"}}}}`)...)
	must(t, set.args("scale", "--replicas=1")...)
	eventually(t, "it runs", func() string { return field(t, set, ".status.availableReplicas") }, "1")
	name := machinesOf(t, set.name)[0]
	authorityIs(t, mapiMachine(name), "ClusterAPI")
	settled(t, mapiMachine(name))
	if by := stage.Cloud.InstancesOf(name)[0].CreatedBy; by != "ClusterAPI" {
		t.Errorf("its instance was made by %s", by)
	}
	move(t, mapiMachine(name), "MachineAPI")
	must(t, set.args("scale", "--replicas=0")...)
	gone(t, name)
}

// converting › Creation of new Machines: "new Machines will not be created in Machine API" for a set that has no Machine API equivalent.
func TestAnIndependentClusterAPISetStaysToItself(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "lets-go", 1)
	move(t, set, "ClusterAPI")
	move(t, mapiMachine(machinesOf(t, set.name)[0]), "ClusterAPI")
	must(t, set.args("delete", "--wait=false")...)
	eventually(t, "the Machine API's set is gone", func() string { return field(t, set, ".metadata.name") }, "")
	eventually(t, "and its Machines", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, "0")

	must(t, capiSet(set.name).args("scale", "--replicas=2")...)
	eventually(t, "a second Machine of Cluster API", func() string { return field(t, capiSet(set.name), ".status.availableReplicas") }, "2")
	if made := machinesOf(t, set.name); len(made) > 0 {
		t.Errorf("the Machine API got Machines: %q", made)
	}
	must(t, capiSet(set.name).args("delete", "--wait=false")...)
	eventually(t, "the set is gone", func() string { return field(t, capiSet(set.name), ".metadata.name") }, "")
}
