// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/testcluster"
)

// poundlock is the identity of the mirror.
const poundlock = "system:serviceaccount:openshift-cluster-api:poundlock"

// capiMachinesOf returns the names of the set's Machines of Cluster API.
func capiMachinesOf(t *testing.T, set string) []string {
	t.Helper()
	machines := &clusterv1.MachineList{}
	list(t, machines, client.InNamespace("openshift-cluster-api"), client.MatchingLabels{"machine.openshift.io/cluster-api-machineset": set})
	var names []string
	for _, m := range machines.Items {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// running counts the running instances of all Machines of a set, including Machines that no object shows any more.
func running(set string) (n int) {
	for _, i := range stage.Cloud.Instances() {
		if strings.HasPrefix(i.Machine.Name, set+"-") && i.State != machinetest.Terminated && i.State != machinetest.ShuttingDown {
			n++
		}
	}
	return n
}

// counts waits until both sets have the same n Machines, each with one instance.
func counts(t *testing.T, set object, n int) {
	t.Helper()
	want := fmt.Sprintf("%d Machine API Machines, %[1]d Cluster API Machines, %[1]d instances", n)
	eventually(t, "the Machines of "+set.name, func() string {
		return fmt.Sprintf("%d Machine API Machines, %d Cluster API Machines, %d instances",
			len(machinesOf(t, set.name)), len(capiMachinesOf(t, set.name)), running(set.name))
	}, want)
	eventually(t, "they are the same", func() string { return fmt.Sprint(capiMachinesOf(t, set.name)) }, fmt.Sprint(machinesOf(t, set.name)))
}

// noMirrors makes the API server refuse the Machines of an API that Poundlock creates for a set, until lift is called.
func noMirrors(t *testing.T, set, group string) (lift func()) {
	t.Helper()
	namespace, version, spec := mapi, "v1beta1", acceptable
	if group == "cluster.x-k8s.io" {
		namespace, version = "openshift-cluster-api", "v1beta2"
		spec = "{clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: probe}}"
	}
	apply(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-mirrors-of-%[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [%[2]s], apiVersions: [%[3]s], operations: [CREATE], resources: [machines]}]}
  matchConditions: [{name: by, expression: "request.userInfo.username == '%[4]s' || object.metadata.name == 'probe'"}]
  validations: [{expression: "object.metadata.?labels['machine.openshift.io/cluster-api-machineset'].orValue('') != '%[1]s'", message: not yet}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-mirrors-of-%[1]s}
spec: {policyName: no-mirrors-of-%[1]s, validationActions: [Deny]}
`, set, group, version, poundlock))
	probe := fmt.Sprintf(
		`{apiVersion: %s/%s, kind: Machine, metadata: {name: probe, namespace: %s, labels: {machine.openshift.io/cluster-api-machineset: %s}}, spec: %s}`,
		group, version, namespace, set, spec)
	eventually(t, "the policy holds", func() string {
		return fmt.Sprint(strings.Contains(kubectl(t, probe, "create", "--dry-run=server", "-f", "-").err, "not yet"))
	}, "true")
	return func() {
		t.Helper()
		must(t, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "no-mirrors-of-"+set)
	}
}

func reasonOf(t *testing.T, o object, kind string) string {
	t.Helper()
	return field(t, o, fmt.Sprintf(`.status.conditions[?(@.type=="%s")].reason`, kind))
}

func messageOf(t *testing.T, o object, kind string) string {
	t.Helper()
	return field(t, o, fmt.Sprintf(`.status.conditions[?(@.type=="%s")].message`, kind))
}

// A Machine that never converted has no Cluster API object. After a move, Cluster API's set would create another Machine in its place.
func TestASetWaitsForAMachineThatDoesNotConvert(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	manifest := strings.Replace(testcluster.MachineSet("half-converts", 1), "deviceIndex: 0", "deviceIndex: 1", 1)
	if a := kubectl(t, manifest, "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	set := mapiSet("half-converts")
	eventually(t, "its Machine runs", func() string { return field(t, set, ".status.availableReplicas") }, "1")
	stuck := machinesOf(t, set.name)[0]
	eventually(t, "the Machine has no mirror", func() string { return condition(t, mapiMachine(stuck), "Synchronized") }, "False")
	must(t, append(set.args("patch"), "--type=json", "-p", `[{"op":"replace","path":"/spec/template/spec/providerSpec/value/deviceIndex","value":0}]`)...)
	eventually(t, "the set is mirrored", func() string { return condition(t, set, "Synchronized") }, "True")

	warned := strings.Join(request(t, set, "ClusterAPI").warnings(), "\n")
	if !strings.Contains(warned, stuck) || !strings.Contains(warned, "deviceIndex") {
		t.Errorf("the warning does not name %s and why it has no mirror: %s", stuck, warned)
	}
	eventually(t, "what the move waits for", func() string { return reasonOf(t, set, "AuthoritySettled") }, "MachinesWithoutCounterpart")
	if m := messageOf(t, set, "AuthoritySettled"); !strings.Contains(m, stuck) || !strings.Contains(m, "deviceIndex") {
		t.Errorf("the condition does not name %s and why it has no mirror: %s", stuck, m)
	}
	if is := field(t, set, ".status.authoritativeAPI"); is != "MachineAPI" {
		t.Fatalf("status.authoritativeAPI is %s", is)
	}
	// The user does what the message advises: without that Machine the move goes on, with the Machine that the set has created in its place.
	must(t, mapiMachine(stuck).args("delete", "--wait=false")...)
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)
	gone(t, stuck)
	counts(t, set, 1)
}

// Machines that Cluster API's set creates count, even those that the mirror has not seen yet when the set is asked to move back.
func TestASetWaitsForTheMirrorsOfItsNewMachines(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "grows-on-its-way", 1)
	move(t, set, "ClusterAPI")
	lift := noMirrors(t, set.name, "machine.openshift.io")
	must(t, capiSet(set.name).args("scale", "--replicas=3")...)
	eventually(t, "Cluster API's Machines", func() string { return fmt.Sprint(len(capiMachinesOf(t, set.name))) }, "3")
	born := slices.DeleteFunc(capiMachinesOf(t, set.name), func(name string) bool { return slices.Contains(machinesOf(t, set.name), name) })
	warned := strings.Join(request(t, set, "MachineAPI").warnings(), "\n")
	eventually(t, "what the move waits for", func() string { return reasonOf(t, set, "AuthoritySettled") }, "MachinesWithoutCounterpart")
	for _, name := range born {
		if !strings.Contains(warned, name) || !strings.Contains(messageOf(t, set, "AuthoritySettled"), name) {
			t.Errorf("warning or condition do not name %s", name)
		}
	}
	if is := field(t, set, ".status.authoritativeAPI"); is == "MachineAPI" {
		t.Fatal("the set has moved without two of its Machines")
	}
	lift()
	for _, name := range born { // so that nobody waits for the mirror's next try
		must(t, append(capiMachine(name).args("annotate"), "example.com/try=now")...)
	}
	authorityIs(t, set, "MachineAPI")
	settled(t, set)
	counts(t, set, 3)
	must(t, set.args("scale", "--replicas=0")...)
	counts(t, set, 0)
}

// The set is scaled right after the request to move, until admission refuses that. What was accepted is kept: each Machine is mirrored, and has one instance.
func TestASetIsScaledFarInTheMomentAfterTheRequest(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "far-and-fast", 1)
	move(t, set, "ClusterAPI")
	for _, replicas := range []int{6, 0} {
		request(t, set, "MachineAPI")
		want := field(t, capiSet(set.name), ".spec.replicas")
		if kubectl(t, "", capiSet(set.name).args("scale", fmt.Sprintf("--replicas=%d", replicas))...).ok {
			want = fmt.Sprint(replicas)
		}
		authorityIs(t, set, "MachineAPI")
		settled(t, set)
		eventually(t, "replicas", func() string { return field(t, set, ".spec.replicas") }, want)
		n, err := strconv.Atoi(want)
		if err != nil {
			t.Fatal(err)
		}
		counts(t, set, n)
		move(t, set, "ClusterAPI")
	}
}

// A set is asked to move as soon as it is created, and asked back. Until the mirror has created the Machines of Cluster API, Cluster API's set counts none of
// them. It would create others, and delete the surplus when the mirrors come.
func TestASetIsFlippedAtItsCreationAndBack(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	const name = "flipped"
	lift := noMirrors(t, name, "cluster.x-k8s.io")
	if a := kubectl(t, testcluster.MachineSet(name, 2), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	set := mapiSet(name)
	eventually(t, "its Machines", func() string { return fmt.Sprint(len(machinesOf(t, name))) }, "2")
	request(t, set, "ClusterAPI")
	eventually(t, "what the move waits for", func() string { return reasonOf(t, set, "AuthoritySettled") }, "MachinesWithoutCounterpart")
	lift()
	request(t, set, "MachineAPI")
	authorityIs(t, set, "MachineAPI")
	settled(t, set)
	counts(t, set, 2)
	if ever := instancesEver(name); ever != 2 {
		t.Errorf("there were %d instances in all: a Machine that ran was lost", ever)
	}
}

// instancesEver counts the instances that all Machines of a set ever had, including the terminated ones.
func instancesEver(set string) (n int) {
	for _, i := range stage.Cloud.Instances() {
		if strings.HasPrefix(i.Machine.Name, set+"-") {
			n++
		}
	}
	return n
}

// A Machine of the Machine API that no set owns has the labels of a set. After the move, the Machine API's set would adopt it, and delete another Machine for
// it.
func TestASetWaitsForAMachineThatTheOtherWouldAdopt(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "would-adopt", 1)
	move(t, set, "ClusterAPI")
	manifest := strings.Replace(strings.Replace(testcluster.MachineSet("would-adopt", 1), "kind: MachineSet", "kind: Machine", 1),
		"name: would-adopt", "name: adoptable", 1)
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &o); err != nil {
		t.Fatal(err)
	}
	labels, _, _ := unstructured.NestedMap(o, "spec", "template", "metadata", "labels")
	spec, _, _ := unstructured.NestedMap(o, "spec", "template", "spec")
	o["spec"] = spec
	if err := unstructured.SetNestedMap(o, labels, "metadata", "labels"); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if a := kubectl(t, string(raw), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	lone := mapiMachine("adoptable")
	eventually(t, "it runs", func() string { return field(t, lone, ".status.phase") }, "Running")
	eventually(t, "it is mirrored", func() string { return condition(t, lone, "Synchronized") }, "True")
	warned := strings.Join(request(t, set, "MachineAPI").warnings(), "\n")
	if !strings.Contains(warned, "Machine adoptable: no MachineSet owns the Machine, but the MachineSet of Machine API would adopt the Machine because of its labels") {
		t.Errorf("the warning does not say what would become of it: %s", warned)
	}
	eventually(t, "what the move waits for", func() string { return reasonOf(t, set, "AuthoritySettled") }, "MachinesWithoutCounterpart")
	if is := field(t, set, ".status.authoritativeAPI"); is != "ClusterAPI" {
		t.Fatalf("status.authoritativeAPI is %s", is)
	}
	// The user does what the message advises.
	must(t, append(lone.args("label"), "machine.openshift.io/cluster-api-machineset-")...)
	authorityIs(t, set, "MachineAPI")
	settled(t, set)
	if ever := instancesEver(set.name); ever != 1 || field(t, lone, ".status.phase") != "Running" {
		t.Errorf("%d instances of the set's, and the other Machine is %s", ever, field(t, lone, ".status.phase"))
	}
	must(t, lone.args("delete", "--wait=false")...)
}
