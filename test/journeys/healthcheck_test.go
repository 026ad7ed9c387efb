// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/simulation"
)

const mixedCheck = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata:
  name: both-sets
  namespace: openshift-machine-api
spec:
  selector:
    matchExpressions:
    - {key: machine.openshift.io/cluster-api-machineset, operator: In, values: [checked-here, checked-over-there]}
  unhealthyConditions:
  - {type: Ready, status: "False", timeout: 1s}
  - {type: Ready, status: Unknown, timeout: 1s}
  maxUnhealthy: "3"
`

// converting › Test Plan › Full migration E2E, step by step.
func TestMachineHealthCheckInMixedClusters(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	// Ensure a mixed cluster is created with authoritative MachineSets in both APIs.
	here, there := newSet(t, "checked-here", 2), newSet(t, "checked-over-there", 2)
	move(t, there, "ClusterAPI")
	left := machinesOf(t, there.name)[0] // stays Machine API's, in a set that is Cluster API's
	move(t, mapiMachine(machinesOf(t, there.name)[1]), "ClusterAPI")
	check := object{mapi, "machinehealthchecks.machine.openshift.io", "both-sets"}
	mirror := object{capi, "machinehealthchecks.cluster.x-k8s.io", "both-sets"}
	apply(t, mixedCheck)
	settled(t, check)
	eventually(t, "its mirror is paused", func() string { return condition(t, mirror, "Paused") }, "True")
	eventually(t, "it counts the Machines of both APIs", func() string { return field(t, check, ".status.currentHealthy") }, "4")
	rest(t, check, mirror)

	// Trigger a MachineHealthCheck reconciliation using a Machine API authoritative MachineHealthCheck; ensure that Machines are deleted correctly.
	heal(t, here, there, machinesOf(t, here.name)[0], machinesOf(t, there.name)[1])
	kept := machinesOf(t, here.name)
	if !slices.Contains(machinesOf(t, there.name), left) {
		t.Errorf("%s, whose Node was ready, is gone", left)
	}

	// Switch authority of MachineHealthCheck to Cluster API.
	if a := request(t, check, "ClusterAPI"); !slices.ContainsFunc(a.warnings(),
		func(w string) bool { return strings.Contains(w, "Cluster API will check all of these Machines") }) {
		t.Errorf("nothing is said of whom it will check: %q", a.warnings())
	}
	authorityIs(t, check, "ClusterAPI")
	settled(t, check)
	refused(t, kubectl(t, "", append(check.args("patch"), "--type=merge", "-p", `{"spec":{"maxUnhealthy":1}}`)...), "authority/spec-locked")
	refused(t, kubectl(t, "", append(check.args("annotate"), "cluster.x-k8s.io/paused-")...), "authority/check-paused")

	// Trigger a second one using the now Cluster API authoritative MachineHealthCheck; ensure that Machines are deleted correctly.
	grown := slices.DeleteFunc(machinesOf(t, there.name), func(name string) bool { return name == left })[0]
	eventually(t, "the authority over "+grown, func() string { return field(t, mapiMachine(grown), ".status.authoritativeAPI") }, "ClusterAPI")
	heal(t, here, there, kept[0], left, grown)
	if !slices.Contains(machinesOf(t, here.name), kept[1]) {
		t.Errorf("%s, whose Node was ready, is gone", kept[1])
	}
	for _, name := range []string{kept[0], left} {
		eventually(t, "who deleted "+name, func() string { return carriedOver(t, name) }, "1")
	}
	if n := carriedOver(t, grown); n != "0" {
		t.Errorf("%s was Cluster API's own to delete, and Poundlock did", grown)
	}
	rest(t, check, mirror)

	move(t, check, "MachineAPI")
	eventually(t, "the Machine API's check acts again", func() string { return field(t, check, `.metadata.annotations.cluster\.x-k8s\.io/paused`) }, "")
	rest(t, check, mirror)
	must(t, check.args("delete", "--wait=false")...)
	for _, o := range []object{check, mirror} {
		eventually(t, o.resource+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
}

// rest waits until nobody writes to any of the objects any more.
func rest(t *testing.T, objects ...object) {
	t.Helper()
	last, since := "", time.Now()
	eventually(t, "nobody writes to the check or its mirror", func() string {
		now := ""
		for _, o := range objects {
			now += " " + field(t, o, ".metadata.resourceVersion")
		}
		if now != last {
			last, since = now, time.Now()
		}
		return fmt.Sprint(time.Since(since) >= 4*time.Second)
	}, "true")
}

// heal silences the kubelets of some Machines, and waits until these Machines are gone on both sides and in the cloud, and others have replaced them.
func heal(t *testing.T, here, there object, sick ...string) {
	t.Helper()
	for _, name := range sick {
		node := field(t, mapiMachine(name), ".status.nodeRef.name")
		must(t, "annotate", "node", node, simulation.NotReadyAnnotation+"=by the test")
	}
	for _, name := range sick {
		gone(t, name)
	}
	for _, set := range []object{here, there} {
		eventually(t, "Machines of "+set.name, func() string {
			return fmt.Sprint(len(machinesOf(t, set.name)), " ", field(t, set, ".status.availableReplicas"))
		}, "2 2")
	}
}

// carriedOver returns how many events report that Poundlock deleted a Machine for Cluster API's check.
func carriedOver(t *testing.T, machine string) string {
	t.Helper()
	text := must(t, "-n", capi, "get", "events.v1.events.k8s.io", "-o", `jsonpath={range .items[?(@.reason=="RemediationCarriedOver")]}{.note}{"\n"}{end}`).out
	return fmt.Sprint(strings.Count(text, "Machine "+machine+","))
}

const startCheck = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: starts-in-time, namespace: openshift-machine-api}
spec:
  authoritativeAPI: ClusterAPI
  nodeStartupTimeout: 30s
  maxUnhealthy: "100%"
  selector: {matchLabels: {checked: late}}
  unhealthyConditions:
  - {type: Ready, status: "False", timeout: 20s}
`

// A Machine waits for an instance for longer than a check allows, and moves without one. The check counts from the creation of Cluster API's Machine, which is
// the mirror. No other story runs meanwhile, because the cloud launches nothing.
func TestAnInstanceThatIsCreatedAfterAMoveIsNotEndedForItsMachinesAge(t *testing.T) {
	stories.Long(t)
	story(t)
	const name = "waited-long"
	set := newSet(t, name, 0)
	apply(t, startCheck)
	check := object{mapi, "machinehealthchecks.machine.openshift.io", "starts-in-time"}
	if err := stage.Cloud.Inject(machinetest.Fault{Do: machinetest.Refuse, Verb: machinetest.Launch, Times: -1}); err != nil {
		t.Fatal(err)
	}
	boot := 10 * time.Second
	swap := func(s *machinetest.Settings) { s.BootTime, boot = boot, s.BootTime }
	if err := stage.Cloud.Configure(swap); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = stage.Cloud.Configure(swap), stage.Cloud.Heal() })
	must(t, set.args("scale", "--replicas=1")...)
	eventually(t, "a Machine", func() string { return fmt.Sprint(len(machinesOf(t, name))) }, "1")
	m := mapiMachine(machinesOf(t, name)[0])
	move(t, set, "ClusterAPI")
	settled(t, check)
	created, err := time.Parse(time.RFC3339, field(t, capiMachine(m.name), ".metadata.creationTimestamp"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Machine is older than a start may take", func() string { return fmt.Sprint(time.Since(created) > 35*time.Second) }, "true")

	request(t, m, "ClusterAPI")
	text := ""
	for _, paused := range []bool{false, true} {
		if paused {
			authorityIs(t, m, "Migrating")
			must(t, append(m.args("label"), "checked=late")...) // before the move, Poundlock would carry out the check's deletion
			if err := stage.Cloud.Heal(); err != nil {
				t.Fatal(err)
			}
		}
		// After the pause, the Machine API's controller waits until nothing that it asked for can appear any more, and only then acknowledges.
		within(t, machine.Grace+patience, "a question", func() string {
			now := messageOf(t, m, "AuthoritySettled")
			return fmt.Sprint(now != text && strings.Contains(now, "no-instance="))
		}, "true")
		text = messageOf(t, m, "AuthoritySettled")
		shell(t, regexp.MustCompile(`kubectl -n \S+ annotate --overwrite \S+ \S+ \S+no-instance=\S+`).FindString(text))
	}
	authorityIs(t, m, "ClusterAPI")
	c := capiMachine(m.name)
	eventually(t, "it runs", func() string { return field(t, c, ".status.phase") }, "Running")
	eventually(t, "what spares it", func() string { return annotation(t, c, "cluster.x-k8s.io/skip-remediation") }, "")
	eventually(t, "the check looks at it", func() string { return condition(t, c, "HealthCheckSucceeded") }, "True")
	if ever := instancesEver(name); ever != 1 {
		t.Errorf("%d instances in all: the first was ended for the age of its Machine", ever)
	}
	must(t, object{capi, "machinehealthchecks.cluster.x-k8s.io", check.name}.args("delete")...)
	must(t, capiSet(name).args("delete", "--wait=false")...)
	gone(t, m.name)
}
