// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"strings"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/poundlock/poundlock/test/testcluster"
)

// What a MachineSet of Cluster API's propagates in place, it also writes to paused Machines. Neither the lock nor the mirror may prevent that. A set that is
// refused one field gives up on all of them. A mirror that undoes such a write would do so for ever.
func TestWhatAClusterAPISetPropagatesStaysOnPausedMachines(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "propagates", 1)
	name := machinesOf(t, set.name)[0]
	request(t, set, "ClusterAPI")
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)

	role := `.metadata.labels.machine\.openshift\.io/cluster-api-machine-role`
	must(t, append(capiSet(set.name).args("patch"), "--type=merge", "-p", `{"spec":{"template":{
		"metadata":{"labels":{"machine.openshift.io/cluster-api-machine-role":"infra","example.com/painted":"yes"},"annotations":{"example.com/note":"hello"}},
		"spec":{"deletion":{"nodeDrainTimeoutSeconds":30}}}}}`)...)
	for _, o := range []object{capiMachine(name), awsMachine(name)} {
		eventually(t, "the label of "+o.resource, func() string { return field(t, o, role) }, "infra")
		eventually(t, "the free label of "+o.resource, func() string { return field(t, o, `.metadata.labels.example\.com/painted`) }, "yes")
		eventually(t, "the annotation of "+o.resource, func() string { return field(t, o, `.metadata.annotations.example\.com/note`) }, "hello")
	}
	eventually(t, "the Machine's drain timeout", func() string { return field(t, capiMachine(name), ".spec.deletion.nodeDrainTimeoutSeconds") }, "30")
	if got := field(t, mapiMachine(name), role); got != "worker" {
		t.Errorf("the authoritative Machine is of the role %q", got)
	}
	rests(t, set, 5*time.Second)

	// When Cluster API is no longer authoritative for the set, the Machine's mirror is equal to the Machine again.
	must(t, append(capiSet(set.name).args("patch"), "--type=merge", "-p", `{"spec":{"template":{"spec":{"deletion":null}}}}`)...)
	request(t, set, "MachineAPI")
	authorityIs(t, set, "MachineAPI")
	settled(t, set)
	for _, o := range []object{capiMachine(name), awsMachine(name)} {
		eventually(t, "the label of "+o.resource, func() string { return field(t, o, role) }, "worker")
	}
	rests(t, set, 2*time.Second)
}

// rests fails if anything of the set is written to within that time. That nothing happens cannot be waited for otherwise.
func rests(t *testing.T, set object, long time.Duration) {
	t.Helper()
	before := atRest(t, set)
	timer := time.NewTimer(long)
	defer timer.Stop()
	<-timer.C
	if all := moved(before, versions(t, set)); len(all) > 0 {
		t.Errorf("moved:\n%s", strings.Join(all, "\n"))
	}
}

// A move needs Cluster API, which is down. Then nobody can write an object that Cluster API's webhooks look at, and neither can Poundlock.
func TestAMoveWaitsForClusterAPIThatIsDown(t *testing.T) {
	stories.Long(t)
	story(t)
	set := newSet(t, "waits", 1)
	request(t, set, "ClusterAPI")
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)
	if err := stage.ClusterAPI.Kill(); err != nil {
		t.Fatal(err)
	}
	request(t, set, "MachineAPI")
	authorityIs(t, set, "Migrating")
	eventually(t, "what holds the move up", func() string { return field(t, set, `.status.conditions[?(@.type=="AuthoritySettled")].reason`) }, "StepFailed")
	if a := kubectl(t, "", capiSet(set.name).args("scale", "--replicas=4")...); a.ok {
		t.Error("the set that is on the move could be scaled")
	}
	if err := stage.ClusterAPI.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	authorityIs(t, set, "MachineAPI")
	settled(t, set)
}

// If Cluster API is authoritative for a Machine, it drains the Machine's Node and obeys a PodDisruptionBudget before the instance is terminated.
func TestClusterAPIDrainsAMachineThatWasMovedToIt(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "drains", 1)
	name := machinesOf(t, set.name)[0]
	request(t, mapiMachine(name), "ClusterAPI")
	authorityIs(t, mapiMachine(name), "ClusterAPI")
	settled(t, mapiMachine(name))
	pod := guarded(t, field(t, capiMachine(name), ".status.nodeRef.name"))

	must(t, append(set.args("scale"), "--replicas=0")...)
	eventually(t, "the drain waits for the budget", func() string {
		return fmt.Sprint(strings.Contains(field(t, capiMachine(name), `.status.conditions[?(@.type=="Deleting")].message`), pod.name))
	}, "true")
	if left := stage.Cloud.InstancesOf(name); len(left) != 1 {
		t.Fatalf("instances of %s while it is drained: %v", name, left)
	}
	must(t, object{"default", "poddisruptionbudgets", pod.name}.args("delete")...)
	for _, o := range []object{pod, capiMachine(name), awsMachine(name), mapiMachine(name)} {
		eventually(t, o.resource+" "+o.name+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
}

// guarded runs a Pod on a Node. The Pod appears ready, and a PodDisruptionBudget protects it.
func guarded(t *testing.T, node string) object {
	t.Helper()
	pod := object{"default", "pods", "guarded"}
	apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: guarded, namespace: default, labels: {app: guarded}}
spec:
  nodeName: %s
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: example.com/none}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guarded, namespace: default}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: guarded}}
`, node))
	must(t, append(pod.args("patch", "--subresource=status"), "--type=merge", "-p",
		`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)...)
	eventually(t, "the budget counts the Pod", func() string {
		return field(t, object{"default", "poddisruptionbudgets", "guarded"}, ".status.currentHealthy")
	}, "1")
	return pod
}

// Programs that still use the old version of the API read a mirror like any other object.
func TestAMirrorIsReadInTheOldVersion(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "old-version", 0)
	old := object{capi, "machinesets.v1beta1.cluster.x-k8s.io", set.name}
	if got := field(t, old, ".spec.template.spec.infrastructureRef.apiVersion"); got != "infrastructure.cluster.x-k8s.io/v1beta2" {
		t.Errorf("its infrastructureRef is of %q", got)
	}
	a := kubectl(t, "", append(old.args("patch"), "--type=merge", "-p", `{"spec":{"template":{"spec":{"nodeDrainTimeout":"30s"}}}}`)...)
	refused(t, a, "authority/spec-locked")
}

// Cluster API completes an authoritative set. Its controller adds the cluster's name to the selector, and passes the set's minReadySeconds on to each Machine.
// Neither write may keep the set from being mirrored, or make the set lose its Machines after a move back.
func TestWhatClusterAPIAddsToASetInItsChargeHoldsNothingUp(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	const labels = "      machine.openshift.io/cluster-api-cluster: lock-7x2k9\n      machine.openshift.io/cluster-api-machineset: completed\n"
	manifest := strings.Replace(testcluster.MachineSet("completed", 1), "    matchLabels:\n"+labels,
		"    matchLabels:\n      machine.openshift.io/cluster-api-machineset: completed\n", 1)
	manifest = strings.Replace(manifest, "  replicas: 1\n", "  replicas: 1\n  minReadySeconds: 1\n", 1)
	set := mapiSet("completed")
	apply(t, manifest)
	eventually(t, "the set's Machine", func() string { return field(t, set, ".status.availableReplicas") }, "1")
	selector := field(t, set, ".spec.selector")

	request(t, set, "ClusterAPI")
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)
	eventually(t, "Cluster API completes the selector", func() string {
		return field(t, capiSet(set.name), `.spec.selector.matchLabels.cluster\.x-k8s\.io/cluster-name`)
	}, "lock-7x2k9")
	must(t, capiSet(set.name).args("scale", "--replicas=2")...)
	eventually(t, "the mirror has two Machines", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, "2")
	for _, name := range machinesOf(t, set.name) {
		settled(t, mapiMachine(name))
	}
	if got := field(t, set, ".spec.selector"); got != selector {
		t.Errorf("the Machine API's selector became %s, and was %s", got, selector)
	}

	request(t, set, "MachineAPI")
	authorityIs(t, set, "MachineAPI")
	settled(t, set)
	if got := field(t, set, ".spec.selector"); got != selector {
		t.Errorf("the Machine API's selector became %s, and was %s", got, selector)
	}
	if names := machinesOf(t, set.name); len(names) != 2 {
		t.Errorf("Machines after the move back: %q", names)
	}
}
