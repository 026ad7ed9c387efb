// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

// autoscales plays the autoscaler, past admission, which is not here to ask who it is (test/journeys has that): it writes to the mirror, on the
// object and through /scale. What people wrote while Cluster API was authoritative is no news when it no longer is.
func (w *world) autoscales(t *testing.T) {
	stories.Long(t)
	w.createSet(t, "auto", nil)
	core := func() *unstructured.Unstructured { return w.get(t, clusterAPISet, capi, "auto") }
	is := func(t *testing.T, want int64) {
		t.Helper()
		w.eventually(t, fmt.Sprintf("%d replicas on both sides", want), func() string {
			set := w.get(t, machineAPISet, mapi, "auto")
			if got, mirror := replicas(set), replicas(core()); got != want || mirror != want {
				return fmt.Sprintf("Machine API %d, Cluster API %d", got, mirror)
			}
			return w.unsynced(t, machineAPISet, "auto")
		})
	}
	w.scaleAs(t, core(), "", 1)
	is(t, 1)
	w.scaleAs(t, core(), "scale", 2)
	is(t, 2)
	w.patch(t, w.get(t, machineAPISet, mapi, "auto"), "", `{"spec":{"replicas":0}}`)
	is(t, 0)
	if by := managersOf(w.get(t, machineAPISet, mapi, "auto")); !strings.Contains(by, "poundlock-autoscaler") {
		t.Logf("managers: %s", by) // the person who scaled last has taken it over
	}
	w.move(t, machineAPISet, "auto", authority.ClusterAPI)
	w.patch(t, core(), "", `{"spec":{"replicas":1}}`)
	is(t, 1)
	w.scaleAs(t, core(), "scale", 2)
	is(t, 2)
	w.limits(t)
	// It scales the set again before the mirror has run in the new direction.
	stopped := w.writes.stopAt(func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/machinesets/auto") && w.current(t, "auto") == authority.MachineAPI
	})
	scaled := make(chan struct{})
	go func() {
		defer close(scaled)
		goOn := <-stopped
		w.scaleAs(t, core(), "scale", 1)
		goOn <- true
	}()
	w.move(t, machineAPISet, "auto", authority.MachineAPI)
	<-scaled
	is(t, 1)
	w.patch(t, w.get(t, machineAPISet, mapi, "auto"), "", `{"spec":{"replicas":0}}`)
	is(t, 0)
	w.scaleAs(t, core(), "scale", 1)
	is(t, 1)
	for n := range int64(4) {
		// Anybody may clear the managed fields; the authority's replicas stay. So they do when somebody scales the mirror, past the locks.
		w.patch(t, core(), "", `{"metadata":{"managedFields":[{}]}}`)
		w.patch(t, w.get(t, machineAPISet, mapi, "auto"), "", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
		is(t, n)
		w.patch(t, core(), "", `{"spec":{"replicas":9}}`)
		is(t, n)
	}
	w.patch(t, w.get(t, machineAPISet, mapi, "auto"), "", `{"spec":{"replicas":1}}`)
	is(t, 1)
	w.marks(t)
	// Through /scale, 0 replicas get no owner: any user may have set them, and they have no effect.
	w.scaleAs(t, core(), "scale", 0)
	is(t, 1)
	w.scaleAs(t, core(), "", 0)
	is(t, 0)
}

// limits are set on the Machine API's set as its operator does, with a whole object, and then on the authority.
func (w *world) limits(t *testing.T) {
	const size, there = "machine.openshift.io/cluster-api-autoscaler-node-group-max-size", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	are := func(t *testing.T, want string) {
		t.Helper()
		w.eventually(t, "the limit "+want+" on both sides", func() string {
			set, core := w.get(t, machineAPISet, mapi, "auto"), w.get(t, clusterAPISet, capi, "auto")
			if set.GetAnnotations()[size] != want || core.GetAnnotations()[there] != want {
				return fmt.Sprint(set.GetAnnotations(), core.GetAnnotations())
			}
			return w.unsynced(t, machineAPISet, "auto")
		})
	}
	for _, n := range []string{"3", "5"} {
		w.eventually(t, "the operator's write", func() string {
			set := w.get(t, machineAPISet, mapi, "auto")
			annotations := set.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[size] = n
			set.SetAnnotations(annotations)
			if err := w.Update(t.Context(), set, client.FieldOwner("cluster-autoscaler-operator")); err != nil {
				return err.Error()
			}
			return ""
		})
		are(t, n)
	}
	w.patch(t, w.get(t, clusterAPISet, capi, "auto"), "", fmt.Sprintf(`{"metadata":{"annotations":{%q:"7"}}}`, there))
	are(t, "7")
}

// marks chooses the Machine that is to go, as the autoscaler does before it scales down.
func (w *world) marks(t *testing.T) {
	var name string
	w.eventually(t, "a Machine in both APIs", func() string {
		for _, m := range w.machines(t, machineAPIMachine, mapi, "auto") {
			if o := w.get(t, machineAPIMachine, mapi, m); o != nil && o.GetDeletionTimestamp() == nil && w.unsynced(t, machineAPIMachine, m) == "" {
				name = m
				return ""
			}
		}
		return "none"
	})
	w.patchAs(t, w.get(t, clusterAPIMachine, capi, name), "", `{"metadata":{"annotations":{"cluster.x-k8s.io/delete-machine":"now"}}}`)
	w.eventually(t, "the mark on the authoritative Machine", func() string {
		if o := w.get(t, machineAPIMachine, mapi, name); o.GetAnnotations()["machine.openshift.io/delete-machine"] != "now" {
			return show(o)
		}
		return w.unsynced(t, machineAPIMachine, name)
	})
	w.patch(t, w.get(t, machineAPIMachine, mapi, name), "", `{"metadata":{"annotations":{"machine.openshift.io/delete-machine":null}}}`)
	w.eventually(t, "the mark gone where the authoritative Machine has lost it", func() string {
		if o := w.get(t, clusterAPIMachine, capi, name); o.GetAnnotations()["cluster.x-k8s.io/delete-machine"] != "" {
			return show(o)
		}
		return w.unsynced(t, machineAPIMachine, name)
	})
	w.waitQuiet(t)
	if o := w.get(t, machineAPIMachine, mapi, name); o.GetAnnotations()["machine.openshift.io/delete-machine"] != "" {
		t.Errorf("the mark has come back: %s", show(o))
	}
}

func (w *world) scaleAs(t *testing.T, o *unstructured.Unstructured, subresource string, n int) {
	t.Helper()
	w.patchAs(t, o, subresource, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

// patchAs writes under the autoscaler's field manager.
func (w *world) patchAs(t *testing.T, o *unstructured.Unstructured, subresource, change string) {
	t.Helper()
	body, as := client.RawPatch(types.MergePatchType, []byte(change)), client.FieldOwner(authority.AutoscalerManager)
	var err error
	if subresource == "" {
		err = w.Patch(t.Context(), o, body, as)
	} else {
		err = w.SubResource(subresource).Patch(t.Context(), o, body, as)
	}
	if err != nil {
		t.Error(err)
	}
}

// current is status.authoritativeAPI of a MachineSet.
func (w *world) current(t *testing.T, name string) authority.API {
	t.Helper()
	set := w.get(t, machineAPISet, mapi, name)
	if set == nil {
		return authority.Unset
	}
	current, _, _ := unstructured.NestedString(set.Object, "status", "authoritativeAPI")
	return authority.API(current)
}

func replicas(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return n
}

func managersOf(o *unstructured.Unstructured) string {
	var out []string
	for _, e := range o.GetManagedFields() {
		out = append(out, e.Manager)
	}
	return strings.Join(out, ",")
}

// createSet makes a MachineSet of the Machine API without Machines, and waits until it is mirrored.
func (w *world) createSet(t *testing.T, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(testcluster.MachineSet(name, 0)), &o.Object); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(o)
	}
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if change == nil {
		w.eventually(t, name+" mirrored", func() string { return w.unsynced(t, machineAPISet, name) })
	}
}

// createsOnly stops the mirror right before it makes the Cluster API object of a pair for which Cluster API is authoritative, as a leader may be stopped that
// goes on when it no longer is one. Somebody else makes that object meanwhile: it is the authority, and is followed.
func (w *world) createsOnly(t *testing.T) {
	stopped := w.writes.stopAt(func(r *http.Request) bool {
		path := strings.TrimSuffix(r.URL.Path, "/raced")
		return strings.Contains(path, "cluster.x-k8s.io/") && strings.HasSuffix(path, "/"+capi+"/machinesets") && (r.Method == http.MethodPost || path != r.URL.Path)
	})
	w.createSet(t, "raced", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "ClusterAPI", "spec", "authoritativeAPI")
	})
	goOn := <-stopped
	theirs := w.get(t, clusterAPISet, capi, "worker-a").DeepCopy()
	theirs.Object["metadata"] = map[string]any{"name": "raced", "namespace": capi}
	delete(theirs.Object, "status")
	labels := map[string]string{"set": "raced"}
	_ = unstructured.SetNestedStringMap(theirs.Object, labels, "spec", "selector", "matchLabels")
	_ = unstructured.SetNestedStringMap(theirs.Object, labels, "spec", "template", "metadata", "labels")
	_ = unstructured.SetNestedField(theirs.Object, "Newest", "spec", "deletion", "order")
	_ = unstructured.SetNestedField(theirs.Object, int64(0), "spec", "replicas")
	err := w.Create(t.Context(), theirs)
	goOn <- true
	if err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the Machine API's set follows", func() string {
		if o := w.get(t, machineAPISet, mapi, "raced"); text(o, "spec", "deletePolicy") != "Newest" {
			return show(o)
		}
		return w.unsynced(t, machineAPISet, "raced")
	})
	now := w.get(t, clusterAPISet, capi, "raced")
	_, paused := now.GetAnnotations()[authority.PausedAnnotation]
	if paused || text(now, "spec", "deletion", "order") != "Newest" || now.GetUID() != theirs.GetUID() {
		t.Errorf("written over: %s", show(now))
	}
}

// marksAnew: Poundlock was removed, its marks with it, and is installed again.
func (w *world) marksAnew(t *testing.T) {
	core, template := w.get(t, clusterAPISet, capi, "worker-a"), w.template(t, "worker-a")
	const clean = `{"metadata":{"annotations":{"poundlock.openshift.io/mirror-of":null},"labels":{"machine.openshift.io/cluster-api-machineset":null}}}`
	w.patch(t, template.DeepCopy(), "", clean)
	w.patch(t, core.DeepCopy(), "", clean)
	w.eventually(t, "both marked", func() string {
		now := w.template(t, "worker-a")
		if now == nil || now.GetUID() != template.GetUID() || now.GetAnnotations()[authority.MirrorAnnotation] == "" {
			return show(now)
		}
		if o := w.get(t, clusterAPISet, capi, "worker-a"); o.GetUID() != core.GetUID() || o.GetAnnotations()[authority.MirrorAnnotation] == "" {
			return show(o)
		}
		return w.unsynced(t, machineAPISet, "worker-a")
	})
}
