// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestAMachineDetachedFromASetThatGoesWithItsCluster: Cluster API has the Cluster own no Machine that names a set by its label, and the Cluster waits for it
// for ever. An owner reference to the Cluster would not do: the collector deletes what belongs to a Cluster that is gone.
func TestAMachineDetachedFromASetThatGoesWithItsCluster(t *testing.T) {
	const label = "cluster.x-k8s.io/set-name"
	for name, c := range map[string]struct {
		surroundings authority.Surroundings
		labels       string
		want         map[string]any
	}{
		"the Cluster goes": {authority.Go, "{cluster.x-k8s.io/set-name: s, a: b}", map[string]any{label: nil}},
		"the Cluster goes, and the Machine is no set's": {authority.Go, "{a: b}", nil},
		"nothing but the set goes, which is recreated":  {authority.Stay, "{cluster.x-k8s.io/set-name: s}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "s", Surroundings: c.surroundings,
				Core: mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: s, uid: set}}`)}
			child := mirroringtest.Machine(t, `{metadata: {name: m, labels: `+c.labels+`, ownerReferences: [{kind: MachineSet, name: s, uid: set, controller: true}]}}`)
			metadata := pairs.Under(Of(s).detach(child, authority.ClusterAPI).Patch, "metadata")
			if got, _ := metadata["labels"].(map[string]any); !cmp.Equal(got, c.want) {
				t.Errorf("labels: %v, want %v", got, c.want)
			}
			if owners := pairs.List(metadata["ownerReferences"]); len(owners) != 0 {
				t.Errorf("owned by %v", owners)
			}
		})
	}
}

// While Poundlock was away, somebody deleted a mirror, and its set with orphans: the Machine stays, and the event is the only trace of what was asked.
func TestADeletionThatIsDroppedWithItsSet(t *testing.T) {
	const owner = `ownerReferences: [{kind: MachineSet, name: s, uid: set, controller: true}]`
	for name, c := range map[string]struct {
		owner  string
		warned bool
	}{"the set was orphaned": {owner, true}, "there was no set": {"labels: {a: b}", false}} {
		t.Run(name, func(t *testing.T) {
			s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m",
				MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: mapi, `+c.owner+`},
  spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`),
				Core: mirroringtest.Machine(t, `{metadata: {name: m, deletionTimestamp: "2026-01-01T12:00:00Z", finalizers: [sync.machine.openshift.io/finalizer],
  annotations: {cluster.x-k8s.io/paused: "", poundlock.openshift.io/mirror-of: Machine/m}}}`),
			}
			step := Asked(s).Next()
			w := Of(s).Next(step)
			if step != authority.ReleaseMirror || w == nil {
				t.Fatalf("%s: %v", step, w)
			}
			if said := strings.Contains(w.Note, "To delete the Machine, delete Machine.machine.openshift.io mapi/m"); said != c.warned || w.Warning != c.warned {
				t.Errorf("warning %t: %s", w.Warning, w.Note)
			}
		})
	}
}

// A set that is gone ends no deletion of a Machine that refers to it: Cluster API's controller asks for the set first. Nobody else takes the reference away.
func TestAMachineWhoseSetIsGone(t *testing.T) {
	const core = `{metadata: {name: m, namespace: capi%s, finalizers: [sync.machine.openshift.io/finalizer]%s,
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s, uid: set, controller: true}, {kind: ConfigMap, name: c, uid: other}]}}`
	const deleting = `, deletionTimestamp: "2026-01-01T12:00:00Z"`
	for name, c := range map[string]struct {
		core string
		set  string
		lets bool
	}{
		"it is being deleted":                      {fmt.Sprintf(core, deleting, ""), "", true},
		"it stays":                                 {fmt.Sprintf(core, "", ""), "", false},
		"its set goes yet":                         {fmt.Sprintf(core, deleting, ""), "set", false},
		"another set of the name, which answers":   {fmt.Sprintf(core, deleting, ""), "another", false},
		"it is a mirror, which Poundlock releases": {fmt.Sprintf(core, deleting, `, annotations: {cluster.x-k8s.io/paused: "true"}`), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Parents: map[authority.API]*unstructured.Unstructured{},
				MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: mapi},
  spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`),
				Core: mirroringtest.Machine(t, c.core)}
			if c.set != "" {
				s.Parents[authority.ClusterAPI] = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: s, uid: `+c.set+`}}`)
			}
			w := Of(s).LetGoOfSet()
			if (w != nil) != c.lets {
				t.Fatalf("%v", w)
			}
			if w == nil {
				return
			}
			owners := pairs.Under(w.Patch, "metadata")["ownerReferences"].([]metav1.OwnerReference)
			if len(owners) != 1 || owners[0].Name != "c" {
				t.Errorf("owned by %v", owners)
			}
			if gone := w.Provided.Gone; gone == nil || gone.GetName() != "s" || gone.GetNamespace() != "capi" || gone.GetKind() != "MachineSet" {
				t.Errorf("provided that %v is gone", gone)
			}
		})
	}
}

// TestAMachineThatAnotherSetWouldAdopt: without its owner, a Machine is adopted by any set of its API that acts and selects it, and deleted if that has too many.
func TestAMachineThatAnotherSetWouldAdopt(t *testing.T) {
	const other = `{metadata: {name: b, uid: b}, spec: {replicas: 1, selector: {matchLabels: {set: b}}}`
	for sentence, c := range map[string]struct {
		labels, set, authority, status string
		surroundings                   authority.Surroundings
		want                           string
	}{
		"it is held":                   {`set: b`, other + `, status: {authoritativeAPI: MachineAPI}}`, "", "", "", "MachineSet b also selects its Machine w and would adopt the Machine"},
		"the other selects it no more": {`set: c`, other + `, status: {authoritativeAPI: MachineAPI}}`, "", "", "", ""},
		"the other is Cluster API's":   {`set: b`, other + `, status: {authoritativeAPI: ClusterAPI}}`, "", "", "", ""},
		"Cluster API runs the Machine": {`set: b`, other + `, status: {authoritativeAPI: MachineAPI}}`, "", "ClusterAPI", "", ""},
		"what they live in is deleted": {`set: b`, other + `, status: {authoritativeAPI: MachineAPI}}`, "", "", authority.Go, ""},
	} {
		if c.status == "" {
			c.status = "MachineAPI"
		}
		kind, _ := authority.KindNamed("MachineSet")
		s := &pairs.State{Kind: kind, Name: "a", Surroundings: c.surroundings}
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: a, uid: a, deletionTimestamp: "2026-11-21T17:00:00Z", `+
			`finalizers: [sync.machine.openshift.io/finalizer]}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`)
		s.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {`+c.authority+`name: a}}`)
		machine := mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: w, labels: {`+c.labels+`}, `+
			`ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: a, uid: a, controller: true}]}, status: {authoritativeAPI: `+c.status+`}}`)
		s.Children = []*unstructured.Unstructured{machine}
		set := mirroringtest.Object(t, c.set)
		set.SetAPIVersion("machine.openshift.io/v1beta1")
		s.Adopters = Adopters(s.Children, s.MachineAPI, []*unstructured.Unstructured{s.MachineAPI, set})
		got := Of(s).Held()
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
		if w := Of(s).Next(authority.DetachChildren); (w == nil) != (c.want != "") {
			t.Errorf("%s: writes %v", sentence, w)
		}
	}
}

// A Machine API set that is deleted leaves those of its Machines that Cluster API runs for a moment, and another set of Cluster API's may adopt them.
func TestTheDeletionOfAnAuthoritativeSetLeavesNothingToAnother(t *testing.T) {
	kind, _ := authority.KindNamed("MachineSet")
	for sentence, c := range map[string]struct {
		labels string
		want   bool
	}{
		"another set selects the Machine": {`set: b`, true},
		"none does":                       {`set: c`, false},
	} {
		s := &pairs.State{Kind: kind, Name: "a"}
		const deleted = `deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [sync.machine.openshift.io/finalizer], `
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {`+deleted+`name: a, uid: a}, `+
			`spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`)
		s.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {`+deleted+`name: a, uid: c, `+
			`annotations: {cluster.x-k8s.io/paused: "", poundlock.openshift.io/mirror-of: MachineSet/a}}}`)
		s.Children = []*unstructured.Unstructured{mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: w, labels: {`+c.labels+`}, `+
			`ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: a, uid: c, controller: true}]}}`)}
		s.Adopters = Adopters(s.Children, s.Core, []*unstructured.Unstructured{s.Core, mirroringtest.Object(t,
			`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: b, uid: b}, spec: {replicas: 1, selector: {matchLabels: {set: b}}}}`)})
		if got := Of(s).Held(); (got != "") != c.want {
			t.Errorf("%s: %q", sentence, got)
		}
		if w := Of(s).Next(authority.DetachChildren); (w == nil) != c.want {
			t.Errorf("%s: writes %v", sentence, w)
		}
	}
}
