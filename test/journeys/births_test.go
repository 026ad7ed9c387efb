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

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/simulation"
)

// Machines are asked to move, either way, after the cloud has made their instances and before its answer has arrived. A move waits for the instance's ID, and
// no Machine ever has a second instance. story compares that with the cloud's ledger.
func TestMachinesMoveWhileTheirInstancesAreCreated(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	type birth struct {
		name     string
		from, to authority.API
	}
	var births []birth
	for _, from := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		for i := range 3 {
			b := birth{fmt.Sprintf("born-in-%s-%d", strings.ToLower(string(from)), i), from, from.Other()}
			if err := stage.Cloud.Inject(machinetest.Fault{Do: machinetest.LoseAnswer, Verb: machinetest.Launch, Machine: b.name, Times: -1}); err != nil {
				t.Fatal(err)
			}
			births = append(births, b)
		}
	}
	t.Cleanup(func() { _ = stage.Cloud.Heal() })
	for _, b := range births {
		manifest := strings.Replace(loneManifest(t, b.name), "authoritativeAPI: MachineAPI", "authoritativeAPI: "+string(b.from), 1)
		if a := kubectl(t, manifest, "create", "-f", "-"); !a.ok {
			t.Fatal(a.err)
		}
	}
	for _, b := range births {
		eventually(t, b.name+" has an instance", func() string { return fmt.Sprint(len(instances(b.name))) }, "1")
		a := request(t, mapiMachine(b.name), string(b.to))
		if b.from == authority.ClusterAPI &&
			!slices.ContainsFunc(a.warnings(), func(w string) bool { return strings.Contains(w, "may have requested an instance") }) {
			t.Errorf("%s: warnings %q", b.name, a.warnings())
		}
	}
	for _, b := range births {
		if b.from == authority.MachineAPI {
			continue // its controller asks the cloud what it has launched, and may know the instance by now
		}
		m := mapiMachine(b.name)
		eventually(t, b.name+" waits", func() string { return field(t, m, `.status.conditions[?(@.type=="AuthoritySettled")].reason`) },
			authority.ReasonInstanceUnknown)
		if id, of := field(t, m, ".spec.providerID"), field(t, m, ".status.authoritativeAPI"); id != "" || of != string(b.from) {
			t.Errorf("%s is %s's, and has the ID %q before the answer", b.name, of, id)
		}
	}
	if err := stage.Cloud.Heal(); err != nil {
		t.Fatal(err)
	}
	for _, b := range births {
		m := mapiMachine(b.name)
		authorityIs(t, m, string(b.to))
		settled(t, m)
		if got := stage.Cloud.InstancesOf(b.name); len(got) != 1 || got[0].ProviderID() != field(t, m, ".spec.providerID") {
			t.Errorf("instances of %s: %v", b.name, got)
		}
		authoritative := m
		if b.to == authority.ClusterAPI {
			authoritative = capiMachine(b.name)
		}
		must(t, authoritative.args("delete", "--wait=false")...)
	}
	for _, b := range births {
		for _, o := range []object{mapiMachine(b.name), capiMachine(b.name), awsMachine(b.name)} {
			eventually(t, o.resource+" "+b.name+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
		}
		if left := instances(b.name); len(left) != 0 {
			t.Errorf("instances of %s are left: %v", b.name, left)
		}
	}
}

// A cloud hides what it has just made. A Machine moves back only once Cluster API has found its instance. Otherwise the Machine API's controllers would report
// for good that the Machine has failed, and would later remove it without terminating its instance.
func TestAMachineMovesBackWhoseInstanceTheCloudHides(t *testing.T) {
	stories.Long(t)
	story(t)
	const name, lag = "hidden", 6 * time.Second
	set := func(lag time.Duration) {
		if err := stage.Cloud.Configure(func(s *machinetest.Settings) { s.Lag = lag }); err != nil {
			t.Fatal(err)
		}
	}
	set(lag)
	t.Cleanup(func() { set(0) })
	m := mapiMachine(name)
	manifest := strings.Replace(loneManifest(t, name), "authoritativeAPI: MachineAPI", "authoritativeAPI: ClusterAPI", 1)
	if a := kubectl(t, manifest, "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	eventually(t, "it has an ID", func() string { return fmt.Sprint(field(t, m, ".spec.providerID") != "") }, "true")
	if a := request(t, m, "MachineAPI"); !strings.Contains(strings.Join(a.warnings(), "\n"), "will wait until AWSMachine hidden is provisioned") {
		t.Errorf("warnings %q", a.warnings())
	}
	authorityIs(t, m, "MachineAPI")
	settled(t, m)
	must(t, m.args("delete")...)
	if left := instances(name); len(left) != 0 {
		t.Errorf("instances are left: %v", left)
	}
}

// Somebody has deleted the AWSMachine of a Machine that Cluster API runs. The Machine can move back, because the Machine API knows the instance and creates
// none.
func TestAMachineWithoutItsInfrastructureObjectMovesBack(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	const name = "bereaved"
	lone(t, name)
	m := mapiMachine(name)
	move(t, m, "ClusterAPI")
	id := field(t, m, ".spec.providerID")
	if a := kubectl(t, "", awsMachine(name).args("delete", "--wait=false")...); !a.ok || !strings.Contains(a.err, "terminates the instance "+id) {
		t.Errorf("nobody is warned of the end of the instance: %s", a.err)
	}
	eventually(t, "the AWSMachine is gone", func() string { return field(t, awsMachine(name), ".metadata.name") }, "")
	eventually(t, "the mirror's word", func() string { return condition(t, m, "Synchronized") }, "False")
	eventually(t, "what is waited for", func() string { return reasonOf(t, m, "AuthoritySettled") }, "TwinMissing")
	for _, kind := range []string{"Synchronized", "AuthoritySettled"} {
		if text := messageOf(t, m, kind); !strings.Contains(text, "Poundlock does not recreate it") {
			t.Errorf("%s: %s", kind, text)
		}
	}

	move(t, m, "MachineAPI")
	if got := field(t, m, ".spec.providerID"); got != id {
		t.Errorf("the ID is %s, and was %s", got, id)
	}
	settled(t, m)
	eventually(t, "the Machine API has looked for it", func() string { return reasonOf(t, m, "InstanceExists") }, "InstanceMissing") // it fails the Machine two minutes after its creation
	if got := stage.Cloud.InstancesOf(name); len(got) != 1 {
		t.Errorf("instances of %s: %v", name, got)
	}
	must(t, m.args("delete", "--wait=false")...)
	eventually(t, "it is gone", func() string { return field(t, m, ".metadata.name") }, "")
}

// An AWSMachine was removed without its instance, because its finalizer was taken off. Cluster API then reports for good that the Machine has failed. The
// Machine moves, as the condition advises. The Machine API neither fails the Machine nor terminates the instance.
func TestAMachineWhoseInfrastructureObjectLostItsFinalizerMovesBack(t *testing.T) {
	stories.Long(t)
	story(t) // alone: the heal at the end removes all faults of the cloud
	const name = "bereaved-alive"
	lone(t, name)
	m := mapiMachine(name)
	move(t, m, "ClusterAPI")
	if err := stage.Cloud.Inject(machinetest.Fault{Do: machinetest.Refuse, Verb: machinetest.Terminate, Machine: name, Times: -1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stage.Cloud.Heal() })
	must(t, awsMachine(name).args("delete", "--wait=false")...)
	must(t, awsMachine(name).args("patch", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)...)
	eventually(t, "Cluster API fails the Machine", func() string {
		return fmt.Sprint(strings.Contains(field(t, capiMachine(name), ".status.deprecated.v1beta1.failureMessage"), "has been deleted after"))
	}, "true")
	eventually(t, "what is waited for", func() string { return reasonOf(t, m, "AuthoritySettled") }, "TwinMissing")
	move(t, m, "MachineAPI")
	settled(t, m)
	eventually(t, "the Machine API has found its instance", func() string { return condition(t, m, "InstanceExists") }, "True")
	if phase, text := field(t, m, ".status.phase"), field(t, m, ".status.errorMessage"); phase != "Running" && phase != "Provisioned" || text != "" {
		t.Errorf("phase %s, errorMessage %q", phase, text)
	}
	if got := instances(name); len(got) != 1 {
		t.Errorf("instances: %v", got)
	}
	if err := stage.Cloud.Heal(); err != nil {
		t.Fatal(err)
	}
	must(t, m.args("delete")...)
	if left := instances(name); len(left) != 0 {
		t.Errorf("instances are left: %v", left)
	}
}

// A Machine is created in both APIs at once, so that the review of neither creation sees the other. The test creates both as Poundlock, so that they are not
// reviewed. Neither API begins until a person has decided, and then there is one instance. story compares that with the cloud's ledger.
func TestAMachineIsCreatedInBothAPIsAtOnce(t *testing.T) {
	stories.Long(t)
	story(t)
	const pattern = "pattern"
	lone(t, pattern)
	for _, decision := range []struct {
		name   string
		decide func(m, c object)
		begins string
	}{
		{"twice-machine-api", func(_, c object) { must(t, c.args("delete")...) }, "MachineAPI"},
		{"twice-cluster-api", func(m, _ object) { must(t, m.args("delete")...) }, "ClusterAPI"},
		{"twice-mirrored", func(_, c object) {
			for _, o := range []object{c, awsMachine(c.name)} {
				must(t, append(o.args("annotate"), "cluster.x-k8s.io/paused=")...)
			}
		}, "MachineAPI"},
	} {
		name := decision.name
		m, c, thaw := createdTwice(t, name, pattern)
		thaw()
		if left := instances(name); len(left) != 0 {
			t.Errorf("instances of %s before a person has decided: %v", name, left)
		}
		decision.decide(m, c)
		eventually(t, name+" has an instance", func() string { return fmt.Sprint(len(instances(name))) }, "1")
		of := c
		if decision.begins == "MachineAPI" {
			of = m
		}
		eventually(t, name+" has its ID", func() string { return fmt.Sprint(field(t, of, ".spec.providerID") != "") }, "true")
		must(t, of.args("delete")...)
		if left := instances(name); len(left) != 0 {
			t.Errorf("instances of %s are left: %v", name, left)
		}
	}
	must(t, mapiMachine(pattern).args("delete")...)
}

// createdTwice creates a Machine in both APIs at once, like the mirrored Machine `pattern`, and waits until Poundlock has seen both. No controller that calls
// the cloud runs until thaw.
func createdTwice(t *testing.T, name, pattern string) (m, c object, thaw func()) {
	t.Helper()
	m, c = mapiMachine(name), capiMachine(name)
	eventually(t, pattern+" is mirrored", func() string { return field(t, awsMachine(pattern), ".metadata.ownerReferences[0].kind") }, "Machine")
	unborn := map[string]any{"ownerReferences": nil}
	infra := manifestOf(t, awsMachine(pattern), name, map[string]any{"providerID": nil, "instanceID": nil}, unborn)
	ref := map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": name}
	core := manifestOf(t, capiMachine(pattern), name, map[string]any{"providerID": nil, "infrastructureRef": ref}, unborn)
	stage.Freeze() // or one of them may begin before both are stored
	thaw = sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)
	for _, manifest := range []string{infra, loneManifest(t, name) + "\n---\n" + core} {
		if a := kubectl(t, manifest, "create", "--as="+poundlock, "-f", "-"); !a.ok {
			t.Fatal(a.err)
		}
	}
	why := ""
	eventually(t, name+": both wait", func() string {
		why = field(t, m, `.status.conditions[?(@.type=="Synchronized")].message`)
		return fmt.Sprint(strings.Contains(why, "neither API creates an instance"))
	}, "true")
	return m, c, thaw
}

// What waits for a person's decision also waits for it while no replica answers. Machine API asks for no instance, whatever Cluster API does. Cluster API's
// controllers then remove what Cluster API began, in the order that the condition names.
func TestMachineAPIBeginsNothingBesideAForeignMachineWhileNobodyAnswers(t *testing.T) {
	stories.Long(t)
	story(t)
	const pattern, name = "quiet-pattern", "quiet-twice"
	lone(t, pattern)
	m, c, thaw := createdTwice(t, name, pattern)
	if err := stage.StopManager(); err != nil {
		t.Fatal(err)
	}
	if err := stage.StartSide(simulation.MachineAPI); err != nil {
		t.Fatal(err)
	}
	must(t, append(c.args("label"), "try=again")...)
	infra := awsMachine(name)
	eventually(t, "Cluster API begins", func() string { return field(t, infra, ".metadata.ownerReferences[0].kind") }, "Machine")
	must(t, append(infra.args("patch"), "--type=merge", "-p", `{"metadata":{"finalizers":["awsmachine.infrastructure.cluster.x-k8s.io"]}}`)...) // as the provider's controller would
	if a := kubectl(t, "", append(m.args("patch"), "--type=merge", "-p", `{"metadata":{"finalizers":["machine.machine.openshift.io"]}}`)...); a.ok ||
		!strings.Contains(a.err, "failed calling webhook") {
		t.Errorf("Machine API may begin, too: %+v", a)
	}
	if left := instances(name); len(left) != 0 {
		t.Errorf("instances: %v", left)
	}
	if err := stage.StartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, o := range []object{c, infra} {
		must(t, append(o.args("annotate"), "cluster.x-k8s.io/paused=")...)
	}
	eventually(t, "what Cluster API began does not become the mirror", func() string {
		return fmt.Sprint(strings.Contains(field(t, m, `.status.conditions[?(@.type=="Synchronized")].message`), "whose ID its controllers have not stored"))
	}, "true")
	if left := instances(name); len(left) != 0 {
		t.Errorf("instances: %v", left)
	}
	if a := kubectl(t, "", append(c.args("delete"), "--wait=false")...); !a.ok ||
		!strings.Contains(a.err, "an instance that Cluster API creates for it is terminated") {
		t.Errorf("deleting what Cluster API began: %+v", a)
	}
	must(t, append(c.args("annotate"), "cluster.x-k8s.io/paused-")...)
	eventually(t, "Cluster API deletes "+infra.name, func() string { return fmt.Sprint(field(t, infra, ".metadata.deletionTimestamp") != "") }, "true")
	must(t, append(infra.args("annotate"), "cluster.x-k8s.io/paused-")...)
	must(t, append(infra.args("patch"), "--as=system:serviceaccount:openshift-cluster-api:capa-controller-manager", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)...) // as the provider's controller would, which asks the cloud first
	eventually(t, name+" has its instance", func() string { return fmt.Sprint(len(instances(name)), field(t, m, ".spec.providerID") != "") }, "1 true")
	if err := stage.StopSide(simulation.MachineAPI); err != nil {
		t.Fatal(err)
	}
	thaw() // this starts both sides
	for _, o := range []object{m, mapiMachine(pattern)} {
		must(t, o.args("delete")...)
	}
}

// While a new Machine of Cluster API's is still paused, its AWSMachine loses its owner: by the garbage collector, after a deletion with --cascade=orphan, or by
// hand. The controller does nothing for an AWSMachine without an owner, and does not acknowledge a pause either. So Cluster API's Machine must not wait for
// that.
func TestAnInfrastructureMachineLosesItsOwnerAtBirth(t *testing.T) {
	stories.Long(t)
	story(t)
	const orphaned, stripped = "orphaned-at-birth", "stripped-at-birth" // the mirror restores the owner of the second
	stage.Freeze()
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)
	for _, name := range []string{orphaned, stripped} {
		manifest := strings.Replace(loneManifest(t, name), "authoritativeAPI: MachineAPI", "authoritativeAPI: ClusterAPI", 1)
		if a := kubectl(t, manifest, "create", "-f", "-"); !a.ok {
			t.Fatal(a.err)
		}
		eventually(t, name+" has an AWSMachine with an owner", func() string { return field(t, awsMachine(name), ".metadata.ownerReferences[0].name") }, name)
		if paused := field(t, awsMachine(name), `.metadata.annotations.cluster\.x-k8s\.io/paused`); paused == "" {
			t.Fatalf("AWSMachine %s is not paused", name)
		}
	}
	must(t, capiMachine(orphaned).args("delete", "--wait=false", "--cascade=orphan")...)
	must(t, awsMachine(stripped).args("patch", "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`)...)
	eventually(t, "AWSMachine "+orphaned+" has lost its owner, or Cluster API's Machine is no longer paused", func() string {
		return fmt.Sprint(field(t, awsMachine(orphaned), ".metadata.ownerReferences") == "" ||
			field(t, capiMachine(orphaned), `.metadata.annotations.cluster\.x-k8s\.io/paused`) == "")
	}, "true")
	thaw()
	settled(t, mapiMachine(stripped))
	eventually(t, stripped+" has an instance", func() string { return fmt.Sprint(len(instances(stripped))) }, "1")
	for _, o := range []object{mapiMachine(orphaned), capiMachine(orphaned), awsMachine(orphaned)} {
		eventually(t, o.resource+" "+orphaned+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
	must(t, capiMachine(stripped).args("delete")...)
	for _, name := range []string{orphaned, stripped} {
		if left := instances(name); len(left) != 0 {
			t.Errorf("instances of %s are left: %v", name, left)
		}
	}
}
