// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts/pairfacts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/fields"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

const (
	firstWant = `{metadata: {name: x, namespace: ns, labels: {a: "1"}, annotations: {cluster.x-k8s.io/paused: "true"}, finalizers: [example.com/f],
    ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: c-uid, controller: false, blockOwnerDeletion: true}]},
  spec: {clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: x},
    failureDomain: a, taints: [{key: k, value: v, effect: NoSchedule, propagation: Always}]}}`
	laterWant = `{metadata: {name: x, namespace: ns, labels: {b: "1"}, annotations: {cluster.x-k8s.io/paused: "true"}, finalizers: [example.com/f],
    ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s, uid: s-uid, controller: true, blockOwnerDeletion: true}]},
  spec: {clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: x}}}`
)

// TestCreations asks a real API server what the mirror's way to create an object rests on.
func TestCreations(t *testing.T) {
	c := serverFor(t)
	t.Run("nothing is recreated, and nothing written over", func(t *testing.T) { preconditions(t, c) })
	t.Run("no authoritative Machine is deleted with a set", func(t *testing.T) { nothingGoesWithItsSet(t, c) })
	byApply := replaced(t, c, byApplies)
	for name, how := range map[string]way{"in one pass": inOnePass, "by a pass that died after its creation": crashing} {
		t.Run("what is created is owned as what is applied, "+name, func(t *testing.T) {
			if diff := cmp.Diff(byApply, replaced(t, c, how)); diff != "" {
				t.Errorf("(-applied +created):\n%s", diff)
			}
		})
	}
}

func serverFor(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(Shared.Plane(t).Admin(), client.Options{Scheme: clientgoscheme.Scheme})
	if err == nil {
		err = c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// preconditions: an apply with a resourceVersion alone does not demand that there be something; with one that no object has it demands that there be nothing.
func preconditions(t *testing.T, c client.Client) {
	apply := func(change func(*unstructured.Unstructured)) error {
		o := mirroringtest.Machine(t, firstWant)
		change(o)
		return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(ownership.Manager), client.ForceOwnership)
	}
	version := func(o *unstructured.Unstructured) { o.SetResourceVersion("1") }
	if err := apply(version); err != nil {
		t.Errorf("an apply with a resourceVersion to what is gone, which used to be recreated: %v", err)
	}
	discard(t, c, mirroringtest.Machine(t, firstWant))
	gone := mirroringtest.Machine(t, laterWant)
	gone.SetResourceVersion("1")
	gone.SetUID("of-what-is-gone")
	w := fields.Become(&pairs.State{Kind: mirroringtest.Kind(t, "Machine"), MachineAPI: gone}, mirroringtest.Machine(t, firstWant), gone)
	if err := (&reconciler{writer: c}).send(t.Context(), nil, w, w.Object.DeepCopy()); w.Verb != "apply" || !apierrors.IsConflict(err) {
		t.Errorf("the mirror's %s to what is gone: %v", w.Verb, err)
	}
	theirs := mirroringtest.Machine(t, laterWant)
	if err := c.Create(t.Context(), theirs, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	if err := (&reconciler{writer: c}).send(t.Context(), nil, &pairs.Write{Verb: pairs.Create}, mirroringtest.Machine(t, firstWant)); !apierrors.IsConflict(err) {
		t.Errorf("creating over an object: %v", err)
	}
	discard(t, c, theirs)
}

// way is how an object comes about that is wanted otherwise afterwards.
type way int

const (
	byApplies way = iota
	inOnePass
	crashing
)

// replaced makes an object, wants another in its place, and returns what is stored, owners of fields included.
func replaced(t *testing.T, c client.Client, how way) map[string]any {
	t.Helper()
	s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), MachineAPI: mirroringtest.Machine(t, `{metadata: {name: x}}`)}
	r := &reconciler{writer: c, facts: pairfacts.Reader{Live: c}}
	first, later := mirroringtest.Machine(t, firstWant), mirroringtest.Machine(t, laterWant)
	if how == byApplies {
		if err := r.send(t.Context(), s, &pairs.Write{Verb: pairs.Apply}, first.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	var live *unstructured.Unstructured
	for _, want := range []*unstructured.Unstructured{first, later} {
		for {
			var err error
			if live, err = served.Read(t.Context(), c, want.GroupVersionKind(), "ns", "x"); err != nil {
				t.Fatal(err)
			}
			w := fields.Become(s, want, live)
			if w == nil || how == crashing && w.Reason == "FieldsTakenOver" && want == first {
				break
			}
			now := w.Object.DeepCopy()
			if err := r.send(t.Context(), s, w, now); err != nil {
				t.Fatal(err)
			}
			if s.Made = ""; w.Verb == pairs.Create {
				s.Made = now.GetUID()
			}
		}
		s.Made = ""
	}
	discard(t, c, live)
	return stored(live)
}

// stored leaves out what differs from one object to the next.
func stored(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, k := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		delete(metadata, k)
	}
	managed, _ := metadata["managedFields"].([]any)
	for _, e := range managed {
		if m, ok := e.(map[string]any); ok {
			delete(m, "time")
		}
	}
	return o.Object
}

func discard(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	free := o.DeepCopy()
	if err := c.Patch(t.Context(), free, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), free); err != nil {
		t.Fatal(err)
	}
}

// nothingGoesWithItsSet: between the look at a set and the write to its Machine the set may go, and between the look at a set's Machines and
// its release it may get one.
func nothingGoesWithItsSet(t *testing.T, c client.Client) {
	const machine = `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: mapi, uid: mirror,
		ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: s, uid: twin, controller: true, blockOwnerDeletion: true}]},
		spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI, synchronizedGeneration: 0}}`
	const twin = `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: s, namespace: mapi, uid: twin}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`
	s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", MachineAPI: mirroringtest.Object(t, machine),
		Parents: map[authority.API]*unstructured.Unstructured{authority.MachineAPI: mirroringtest.Object(t, twin)}}
	const refs = `clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, name: x, `
	stored := func(kind, text string) *unstructured.Unstructured {
		o := mirroringtest.Machine(t, text)
		o.SetKind(kind)
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	set := stored("MachineSet", `{metadata: {name: s, namespace: ns, finalizers: [`+authority.SyncFinalizer+`],
		annotations: {cluster.x-k8s.io/paused: "", poundlock.openshift.io/mirror-of: MachineSet/s}},
		spec: {clusterName: c, selector: {matchLabels: {set: s}}, template: {metadata: {labels: {set: s}}, spec: {`+refs+`kind: AWSMachineTemplate}}}}}`)
	s.Core = stored("Machine", `{metadata: {name: m, namespace: ns, labels: {set: s}}, spec: {`+refs+`kind: AWSMachine}}}`)
	s.Parents[authority.ClusterAPI] = set
	r := &reconciler{writer: c, facts: pairfacts.Reader{Live: c}, owners: &sync.Mutex{}}

	w := mirroring.Next(s, time.Now())
	if w == nil || w.Reason != "OwnerRestored" {
		t.Fatalf("the next write is %+v", w)
	}
	if err := c.Delete(t.Context(), set.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := r.send(t.Context(), s, w, w.Object.DeepCopy()); !apierrors.IsConflict(err) {
		t.Errorf("giving a Machine to a set that is being deleted: %v", err)
	}

	going, err := served.Read(t.Context(), c, set.GroupVersionKind(), "ns", "s")
	if err != nil {
		t.Fatal(err)
	}
	sets := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "s", Pair: authority.Pair{MachineAPI: "mapi", ClusterAPI: "ns"}, Core: going,
		MachineAPI: s.Parents[authority.MachineAPI]}
	release := mirroring.Next(sets, time.Now())
	if release == nil || release.Reason != "Released" {
		t.Fatalf("the next write is %+v", release)
	}
	w.Provided = pairs.Proviso{} // it was asked before the set was deleted
	if err := r.send(t.Context(), s, w, w.Object.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := r.send(t.Context(), sets, release, going.DeepCopy()); !apierrors.IsConflict(err) {
		t.Errorf("releasing a set that a Machine has come to belong to: %v", err)
	}
	if err := c.Delete(t.Context(), s.Core); err != nil {
		t.Fatal(err)
	}
	if err := r.send(t.Context(), sets, release, going.DeepCopy()); err != nil {
		t.Errorf("releasing a set without Machines: %v", err)
	}
}
