// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/twin"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// TestClearedManagedFieldsAreClaimed: a mirror without an entry of ours cannot be relieved of what its authority drops later, so that it is applied once.
func TestClearedManagedFieldsAreClaimed(t *testing.T) {
	const marked = `annotations: {` + authority.MirrorAnnotation + `: Machine/m}`
	for _, c := range []struct {
		sentence, live string
		claims         bool
	}{
		{"nothing is left of them", `{metadata: {` + marked + `}, spec: {a: 1}}`, true},
		{"another's entry is left", `{metadata: {` + marked + `, managedFields: [` + mirroringtest.Manager("kubectl", "Update", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, true},
		{"ours is there", `{metadata: {` + marked + `, managedFields: [` + mirroringtest.Manager(ownership.Manager, "Apply", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, false},
		{"the Machine API's mirror, too", `{apiVersion: machine.openshift.io/v1beta1, metadata: {}, spec: {a: 1}}`, true},
		{"one that somebody else made is taken over field by field", `{metadata: {managedFields: [` + mirroringtest.Manager("kubectl", "Update", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, false},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m"}
		s.MachineAPI = mirroringtest.Machine(t, `{metadata: {name: m}, status: {authoritativeAPI: MachineAPI, synchronizedGeneration: 1}}`)
		w := Become(s, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
			"spec": map[string]any{"a": int64(1)}}}, mirroringtest.Machine(t, c.live))
		if got := w != nil && w.Verb == pairs.Apply; got != c.claims {
			t.Errorf("%s: applied: %t", c.sentence, got)
		}
	}
}

func TestWhatIsConcededToTheSetThatPropagates(t *testing.T) {
	all := `{"f:metadata": {"f:labels": {"f:role": {}}, "f:annotations": {"f:note": {}}}, "f:spec": {"f:clusterName": {}, "f:taints": {}, "f:bootstrap": {"f:dataSecretName": {}}}}`
	live := func(manager string) string {
		return `{metadata: {labels: {role: infra}, annotations: {note: theirs}, ownerReferences: [{kind: MachineSet, name: worker-a, uid: set, controller: true}], managedFields: [` +
			manager + `]}, spec: {clusterName: theirs, taints: [{key: t}], bootstrap: {dataSecretName: new}}}`
	}
	want := `{metadata: {labels: {role: worker}, annotations: {note: ours}}, spec: {clusterName: ours, taints: [{key: o}], bootstrap: {dataSecretName: old}}}`
	for _, c := range []struct {
		sentence      string
		live, want    string
		authoritative authority.API
		after         string
	}{
		{"what the set has another value for is the set's, and the rest is not", live(mirroringtest.Manager("capi-machineset", "Apply", all)), want, authority.ClusterAPI, `{metadata: {labels: {}, annotations: {}}, spec: {clusterName: ours, bootstrap: {}}}`},
		{"so it is on an infrastructure machine, which another manager writes", live(mirroringtest.Manager("capi-machineset-metadata", "Apply", `{"f:metadata": {"f:labels": {"f:role": {}}}}`)), want, authority.ClusterAPI,
			`{metadata: {labels: {}, annotations: {note: ours}}, spec: {clusterName: ours, taints: [{key: o}], bootstrap: {dataSecretName: old}}}`},
		{"what both say alike stays the mirror's too", live(mirroringtest.Manager("capi-machineset", "Apply", all)), `{metadata: {labels: {role: infra}}, spec: {taints: [{key: t}]}}`, authority.ClusterAPI,
			`{metadata: {labels: {role: infra}}, spec: {taints: [{key: t}]}}`},
		{"a set that is not authoritative is conceded nothing", live(mirroringtest.Manager("capi-machineset", "Apply", all)), want, authority.MachineAPI, want},
		{"nor is anybody else", live(mirroringtest.Manager("kubectl", "Apply", all)), want, authority.ClusterAPI, want},
		{"nor one that writes under the set's name without applying", live(mirroringtest.Manager("capi-machineset", "Update", all)), want, authority.ClusterAPI, want},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Core: mirroringtest.Machine(t, c.live), Parents: map[authority.API]*unstructured.Unstructured{
			authority.ClusterAPI: mirroringtest.Machine(t, `{metadata: {name: worker-a, uid: set}}`),
			authority.MachineAPI: mirroringtest.Machine(t,
				fmt.Sprintf(`{metadata: {name: worker-a}, spec: {authoritativeAPI: %[1]s}, status: {authoritativeAPI: %[1]s}}`, c.authoritative)),
		}}
		got, keep := concede(s, mirroringtest.Machine(t, c.want), s.Core)
		if diff := cmp.Diff(mirroringtest.Machine(t, c.after).Object, got.Object); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
		if conceding := len(keep) > 0; conceding != (c.authoritative == authority.ClusterAPI) {
			t.Errorf("%s: keeps %v", c.sentence, keep)
		}
	}
}

// TestTheMarkOfClusterAPIsSetGoesWithTheMirrorThatCopiedIt: mirrors of earlier releases did, and a person's own label stays.
func TestTheMarkOfClusterAPIsSetGoesWithTheMirrorThatCopiedIt(t *testing.T) {
	const owned = `{"f:metadata": {"f:labels": {"f:cluster.x-k8s.io/set-name": {}}}}`
	const ours = `{"f:metadata": {"f:labels": {"f:team": {}}}}`
	for _, c := range []struct {
		sentence, managed string
		goes              bool
	}{
		{"the mirror copied it", mirroringtest.Manager(ownership.Manager, "Apply", `{"f:metadata": {"f:labels": {"f:team": {}, "f:cluster.x-k8s.io/set-name": {}}}}`), true},
		{"a person wrote it", mirroringtest.Manager(ownership.Manager, "Apply", ours) + ", " + mirroringtest.Manager("kubectl", "Update", owned), false},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Core: mirroringtest.Machine(t, `{metadata: {name: m, labels: {team: a, cluster.x-k8s.io/set-name: s}}}`)}
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, labels: {team: a, cluster.x-k8s.io/set-name: s},
			managedFields: [`+strings.ReplaceAll(c.managed, "cluster.x-k8s.io/v1beta2", "machine.openshift.io/v1beta1")+`]}, status: {authoritativeAPI: ClusterAPI}}`)
		want := twin.Of(s).WantMachineAPI(s.Core)
		w := Become(s, want, s.MachineAPI)
		if w == nil || w.Verb != pairs.Apply || strings.Contains(strings.Join(w.Fields, " "), "set-name") != c.goes || w.Object.GetLabels()["cluster.x-k8s.io/set-name"] != "" {
			t.Errorf("%s: %+v", c.sentence, w)
		}
	}
}

// TestWhatPeopleAskForStaysTheirs: which API is to be authoritative, for a set and for its new Machines, is no content that the mirror takes over or removes.
func TestWhatPeopleAskForStaysTheirs(t *testing.T) {
	s := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "m"}
	live := mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: m, managedFields: [`+
		strings.ReplaceAll(mirroringtest.Manager("kubectl", "Update", `{"f:spec": {"f:authoritativeAPI": {}, "f:replicas": {}, "f:template": {"f:spec": {"f:authoritativeAPI": {}, "f:taints": {}}}}}`), "cluster.x-k8s.io/v1beta2", "machine.openshift.io/v1beta1")+
		`]}, spec: {authoritativeAPI: ClusterAPI, replicas: 1, template: {spec: {authoritativeAPI: ClusterAPI, taints: [{key: a}]}}}, status: {authoritativeAPI: ClusterAPI}}`)
	s.MachineAPI = live
	w := Become(s, mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: m}, spec: {replicas: 1, template: {spec: {}}}}`), live)
	if w == nil || w.Reason != "FieldsTakenOver" {
		t.Fatalf("the taints are not taken over: %v", w)
	}
	metadata, _ := w.Patch["metadata"].(map[string]any)
	text := fmt.Sprintf("%s", metadata["managedFields"])
	theirs, _, _ := strings.Cut(text, ownership.Manager)
	if strings.Count(theirs, "f:authoritativeAPI") != 2 || strings.Contains(theirs, "f:taints") {
		t.Errorf("of the person's fields this is left: %s", text)
	}
}

// TestWhatIsDroppedFromAnItemOfAList: an API server knows a list of a providerSpec, or of an infrastructure machine, as a whole, so that managed fields tell
// nothing of its items.
func TestWhatIsDroppedFromAnItemOfAList(t *testing.T) {
	live := mirroringtest.Machine(t, `{metadata: {annotations: {`+authority.MirrorAnnotation+`: Machine/m}, managedFields: [`+
		mirroringtest.Manager(ownership.Manager, "Apply", `{"f:spec": {"f:disks": {}}}`)+`]}, spec: {disks: [{size: 1, key: k}]}}`)
	want := &unstructured.Unstructured{Object: map[string]any{"apiVersion": live.GetAPIVersion(), "kind": "Machine",
		"spec": map[string]any{"disks": []any{map[string]any{"size": int64(1)}}}}}
	s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Answered: func(*unstructured.Unstructured) bool { return false }}
	s.MachineAPI = mirroringtest.Machine(t, `{metadata: {name: m}, status: {authoritativeAPI: MachineAPI, synchronizedGeneration: 1}}`)
	w := Become(s, want, live)
	if w == nil || w.Verb != pairs.Apply || len(w.Fields) != 1 || w.Fields[0] != "spec.disks[].key" {
		t.Fatalf("got %v, want an apply because of spec.disks[].key", w)
	}
	s.Answered = func(*unstructured.Unstructured) bool { return true }
	if w := Become(s, want, live); w != nil {
		t.Errorf("%s although the API server has answered this: it is a default", w.Verb)
	}
}

// TestRecordsOfAFormerMirror: after a move back the object has what its manifest has.
func TestRecordsOfAFormerMirror(t *testing.T) {
	const records = `annotations: {note: noted, poundlock.openshift.io/synchronized-infra-generation: "1", poundlock.openshift.io/synchronized-core: a/1}`
	for _, c := range []struct{ sentence, metadata, status, want string }{
		{"nothing of them is left where the Machine API is authoritative", records, "{authoritativeAPI: MachineAPI}",
			"map[poundlock.openshift.io/synchronized-core:<nil> poundlock.openshift.io/synchronized-infra-generation:<nil>]"},
		{"one that was never a mirror has none", `annotations: {note: noted}`, "{authoritativeAPI: MachineAPI}", ""},
		{"on a mirror they stay", records, "{authoritativeAPI: ClusterAPI}", ""},
		{"and while authority moves back", records, "{authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI}", ""},
		{"and while it moves the other way, in which nobody expects the object to change", records, "{authoritativeAPI: Migrating, synchronizedAPI: MachineAPI}", ""},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m"}
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, `+c.metadata+`}, status: `+c.status+`}`)
		w, got := Unrecorded(s), ""
		if w != nil {
			got = fmt.Sprint(w.Patch["metadata"].(map[string]any)["annotations"])
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.sentence, got, c.want)
		}
	}
}

// TestNoMarkIsLeftOnAMirror: the authority has no mark (any more), and no writer's mark is to be carried over.
func TestNoMarkIsLeftOnAMirror(t *testing.T) {
	const mark = "cluster.x-k8s.io/delete-machine"
	for _, by := range []string{"kubectl", authority.AutoscalerManager, ownership.CarriedManager} {
		live := mirroringtest.Machine(t, `{metadata: {annotations: {`+authority.MirrorAnnotation+`: Machine/m, `+mark+`: t, note: mine}, managedFields: [`+
			mirroringtest.Manager(ownership.Manager, "Apply", `{"f:spec": {"f:a": {}}}`)+`, `+
			mirroringtest.Manager(by, "Update", `{"f:metadata": {"f:annotations": {"f:`+mark+`": {}, "f:note": {}}}}`)+`]}, spec: {a: 1}}`)
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Core: live}
		s.MachineAPI = mirroringtest.Machine(t, `{metadata: {name: m}, status: {authoritativeAPI: MachineAPI, synchronizedGeneration: 1}}`)
		want := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "spec": map[string]any{"a": int64(1)},
			"metadata": map[string]any{"annotations": map[string]any{authority.MirrorAnnotation: "Machine/m"}}}}
		w := Become(s, want, live)
		if w == nil || w.Reason != "FieldsTakenOver" || !strings.Contains(fmt.Sprint(w.Patch), mark) {
			t.Fatalf("%s: %+v", by, w)
		}
		managed, _ := w.Patch["metadata"].(map[string]any)["managedFields"].([]metav1.ManagedFieldsEntry)
		live.SetManagedFields(managed)
		if w = Become(s, want, live); w == nil || w.Verb != pairs.Apply || !slices.Contains(w.Fields, "metadata.annotations."+mark) {
			t.Errorf("%s: %+v", by, w)
		}
	}
}
