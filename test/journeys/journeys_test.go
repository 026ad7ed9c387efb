// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/testcluster"
)

func TestASetMovesThereAndBack(t *testing.T) {
	together(t)
	story(t)
	set := newSet(t, "there-and-back", 1)
	spec := field(t, set, ".spec.template.spec.providerSpec.value")
	stop := authorities(t, set.name)

	if a := request(t, set, "ClusterAPI"); len(a.warnings()) > 0 {
		// A warning may say how many Machines the request concerns. It may not say that something prevents the move.
		t.Logf("warnings: %q", a.warnings())
	}
	authorityIs(t, set, "ClusterAPI")
	eventually(t, "Cluster API's set is released", func() string { return condition(t, capiSet(set.name), "Paused") }, "False")
	eventually(t, "the Machine API's set is paused", func() string { return condition(t, set, "Paused") }, "True")
	settled(t, set)
	unchanged(t, spec, field(t, set, ".spec.template.spec.providerSpec.value"))

	request(t, set, "MachineAPI")
	authorityIs(t, set, "MachineAPI")
	eventually(t, "Cluster API's set is paused", func() string { return condition(t, capiSet(set.name), "Paused") }, "True")
	eventually(t, "the Machine API's set is released", func() string { return condition(t, set, "Paused") }, "False")
	settled(t, set)

	unchanged(t, spec, field(t, set, ".spec.template.spec.providerSpec.value"))
	want := []string{"MachineAPI", "Migrating", "ClusterAPI", "Migrating", "MachineAPI"}
	if diff := cmp.Diff(want, stop()); diff != "" {
		t.Errorf("status.authoritativeAPI (-want +seen):\n%s", diff)
	}
}

// unchanged compares two providerSpecs member by member, because a person who keeps the manifest also sees an empty member.
func unchanged(t *testing.T, before, after string) {
	t.Helper()
	var was, is map[string]any
	if err := errors.Join(json.Unmarshal([]byte(before), &was), json.Unmarshal([]byte(after), &is)); err != nil {
		t.Fatalf("reading providerSpecs: %v:\n%s\n%s", err, before, after)
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("the move changed the providerSpec:\n%s", diff)
	}
}

func TestAMachineMovesThereAndBackAndKeepsItsInstance(t *testing.T) {
	together(t)
	story(t)
	set := newSet(t, "one-machine", 1)
	name := machinesOf(t, set.name)[0]
	m := mapiMachine(name)
	instance := field(t, m, ".spec.providerID")

	request(t, m, "ClusterAPI")
	authorityIs(t, m, "ClusterAPI")
	settled(t, m)
	eventually(t, "Cluster API's Machine runs", func() string { return field(t, capiMachine(name), ".status.phase") }, "Running")
	if got := field(t, capiMachine(name), ".spec.providerID"); got != instance {
		t.Errorf("Cluster API's Machine is %s, and was %s", got, instance)
	}
	finalizers(t, m, "machine.machine.openshift.io", false)
	finalizers(t, capiMachine(name), "machine.cluster.x-k8s.io", true)

	request(t, m, "MachineAPI")
	authorityIs(t, m, "MachineAPI")
	settled(t, m)
	finalizers(t, m, "machine.machine.openshift.io", true)
	finalizers(t, awsMachine(name), "awsmachine.infrastructure.cluster.x-k8s.io", false)
	if got := stage.Cloud.InstancesOf(name); len(got) != 1 || got[0].ProviderID() != instance {
		t.Errorf("instances of %s: %v", name, got)
	}
}

// finalizers checks that an object has a finalizer, or that it does not, as `want` says.
func finalizers(t *testing.T, o object, name string, want bool) {
	t.Helper()
	all := field(t, o, ".metadata.finalizers")
	if got := strings.Contains(all, fmt.Sprintf("%q", name)); got != want {
		t.Errorf("%s %s has the finalizers %s: %s among them: %t, want %t", o.resource, o.name, all, name, got, want)
	}
}

func TestAMoveIsCancelledHalfWay(t *testing.T) {
	story(t)
	set := newSet(t, "cancelled", 1)
	stage.Freeze() // so that nobody acknowledges the pause
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)

	request(t, set, "ClusterAPI")
	authorityIs(t, set, "Migrating")
	for _, o := range []object{set, capiSet(set.name)} {
		a := kubectl(t, "", append(o.args("patch"), "--type=merge", "-p", `{"spec":{"replicas":4}}`)...)
		refused(t, a, "authority/in-transit")
	}
	request(t, set, "MachineAPI")
	thaw()
	authorityIs(t, set, "MachineAPI")
	settled(t, set)
	if !strings.Contains(field(t, capiSet(set.name), ".metadata.annotations"), `"cluster.x-k8s.io/paused"`) {
		t.Error("Cluster API's set is not paused after the move was cancelled")
	}
	eventually(t, "the Machine API's set works again", func() string { return condition(t, set, "Paused") }, "False")
}

func TestAMoveSurvivesThatPoundlockIsKilled(t *testing.T) {
	story(t)
	set := newSet(t, "survives", 1)
	stage.Freeze()
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)

	request(t, set, "ClusterAPI")
	authorityIs(t, set, "Migrating")
	if err := stage.StopManager(); err != nil {
		t.Fatal(err)
	}
	if a := kubectl(t, "", capiSet(set.name).args("scale", "--replicas=4")...); a.ok {
		t.Error("with Poundlock gone, the set that is on the move could be scaled")
	}
	if err := stage.StartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	thaw()
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)
}

func TestASetThatDoesNotConvertStaysAndReportsWhy(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	manifest := strings.Replace(testcluster.MachineSet("stays", 0), "deviceIndex: 0", "deviceIndex: 1", 1)
	if a := kubectl(t, manifest, "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	set := mapiSet("stays")
	eventually(t, "the mirror's word", func() string { return condition(t, set, "Synchronized") }, "False")

	a := request(t, set, "ClusterAPI")
	if !slices.ContainsFunc(a.warnings(), func(w string) bool {
		return strings.Contains(w, "spec.template.spec.providerSpec.value.deviceIndex")
	}) {
		t.Errorf("no warning names the field: %q", a.warnings())
	}
	if got := field(t, set, ".spec.authoritativeAPI"); got != "ClusterAPI" {
		t.Errorf("the request was not stored: spec.authoritativeAPI is %q", got)
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); { // the reconcilers pass many times
		if got := field(t, set, ".status.authoritativeAPI"); got != "MachineAPI" {
			t.Fatalf("status.authoritativeAPI became %q", got)
		}
	}
	// When what prevents the move is removed, the stored request is carried out.
	must(t, append(set.args("patch"), "--type=json", "-p",
		`[{"op":"replace","path":"/spec/template/spec/providerSpec/value/deviceIndex","value":0}]`)...)
	authorityIs(t, set, "ClusterAPI")
}

func TestApplyOfAManifestThatChangesTheAuthorityAlone(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	manifest := testcluster.MachineSet("applied", 1)
	toClusterAPI := strings.Replace(manifest, "authoritativeAPI: MachineAPI", "authoritativeAPI: ClusterAPI", 1)
	set := mapiSet("applied")
	apply(t, manifest)
	eventually(t, "applied is mirrored", func() string { return condition(t, set, "Synchronized") }, "True")
	eventually(t, "the Machine of applied", func() string { return field(t, set, ".status.availableReplicas") }, "1")

	apply(t, toClusterAPI)
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)
	apply(t, toClusterAPI) // this changes nothing, and is allowed
	apply(t, manifest)
	authorityIs(t, set, "MachineAPI")
}

func apply(t *testing.T, manifest string) {
	t.Helper()
	if a := kubectl(t, manifest, "apply", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
}

func TestAMirroredSetScalesAfterTheMove(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "scales", 1)
	request(t, set, "ClusterAPI")
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)

	must(t, capiSet(set.name).args("scale", "--replicas=2")...)
	eventually(t, "the mirror has two Machines", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, "2")
	eventually(t, "the mirror's replicas", func() string { return field(t, set, ".spec.replicas") }, "2")
	var grown string
	for _, name := range machinesOf(t, set.name) {
		if field(t, mapiMachine(name), ".spec.authoritativeAPI") == "ClusterAPI" {
			grown = name
		}
	}
	if grown == "" {
		t.Fatal("the new Machine is not Cluster API's")
	}
	eventually(t, "the new Machine runs, as its mirror tells", func() string { return field(t, mapiMachine(grown), ".status.phase") }, "Running")

	must(t, append(capiMachine(grown).args("annotate"), "cluster.x-k8s.io/delete-machine=yes")...)
	must(t, capiSet(set.name).args("scale", "--replicas=1")...)
	for _, o := range []object{capiMachine(grown), awsMachine(grown), mapiMachine(grown)} {
		eventually(t, o.resource+" "+grown+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
	if left := machinesOf(t, set.name); len(left) != 1 {
		t.Errorf("Machines left: %q", left)
	}
}

func TestAnIdleFleetIsNotWrittenTo(t *testing.T) {
	stories.Long(t)
	afterAll(t)
	story(t)
	marked(t)
	if all := disturbed(t); len(all) > 0 { // on a busy machine, the end of the last story is recorded late. A fight of two controllers repeats.
		t.Logf("at first: %v", all)
		if all = disturbed(t); len(all) > 0 {
			t.Errorf("moved:\n%s", strings.Join(all, "\n"))
		}
	}
}

// marked waits until the annotation by which Poundlock marks the Cluster has the number of mirrored objects. Poundlock corrects that number once a minute, and
// each correction makes the provider look at all its machines.
func marked(t *testing.T) {
	t.Helper()
	var holds, want string
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, patience, true, func(context.Context) (bool, error) {
		var parts []string
		for _, kind := range authority.Kinds() {
			all, n := &unstructured.UnstructuredList{}, 0
			all.SetGroupVersionKind(kind.MachineAPI.WithKind(kind.Name + "List"))
			list(t, all, client.InNamespace("openshift-machine-api"))
			for _, o := range all.Items {
				if slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) {
					n++
				}
			}
			if n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, kind.Name))
			}
		}
		var clusters clusterv1.ClusterList
		list(t, &clusters)
		holds, want = clusters.Items[0].Annotations[authority.HoldsMirrorsAnnotation], strings.Join(parts, ", ")
		return strings.ReplaceAll(holds+",", "s,", ",") == want+",", nil
	})
	if err != nil {
		t.Fatalf("the Cluster's mark is %q, and %s are mirrored: %v", holds, want, err)
	}
}

// disturbed returns what is written to, and what the cloud is called for, while nothing happens.
func disturbed(t *testing.T) []string {
	t.Helper()
	before := atRest(t)
	calls := len(stage.Cloud.Ledger())
	timer := time.NewTimer(8 * time.Second) // that nothing happens cannot be waited for otherwise
	defer timer.Stop()
	<-timer.C
	all := moved(before, versions(t))
	for _, call := range stage.Cloud.Ledger()[calls:] {
		all = append(all, fmt.Sprintf("the cloud was called: %v", call))
	}
	return all
}
