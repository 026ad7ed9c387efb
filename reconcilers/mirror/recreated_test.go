// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// family is a pair of MachineSets and their Machines.
type family struct {
	sets, machines *twins
	set            string
}

func (w *world) family(t *testing.T, set string, api authority.API) *family {
	t.Helper()
	kinds := authority.Kinds()
	f := &family{machines: &twins{w, kinds[0]}, sets: &twins{w, kinds[1]}, set: set}
	f.sets.adopt(t, set, authority.MachineAPI, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, int64(5), "spec", "replicas") // Cluster API's set has room for every Machine of a test
	})
	f.sets.mirrored(t, set, 0)
	if api == authority.ClusterAPI {
		f.sets.over(t, set)
	}
	return f
}

// machine creates a Machine that both sets count.
func (f *family) machine(t *testing.T, name string, api authority.API) {
	t.Helper()
	set := f.sets.mapi(t, f.set)
	f.machines.adopt(t, name, authority.MachineAPI, func(o *unstructured.Unstructured) {
		o.SetLabels(f.labels(t))
		o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(set, set.GroupVersionKind())})
	})
	f.machines.mirrored(t, name, 0)
	if api == authority.ClusterAPI {
		f.machines.over(t, name)
	}
	f.owned(t, name)
}

func (f *family) labels(t *testing.T) map[string]string {
	t.Helper()
	labels, _, _ := unstructured.NestedStringMap(f.sets.mapi(t, f.set).Object, "spec", "template", "metadata", "labels")
	return labels
}

// owned waits until both objects of a Machine belong to the sets of today, as a set's own controller would write it.
func (f *family) owned(t *testing.T, name string) {
	t.Helper()
	f.machines.eventually(t, name+" belongs to its sets", func() string {
		pairs := [][2]*unstructured.Unstructured{
			{f.machines.mapi(t, name), f.sets.mapi(t, f.set)}, {f.machines.core(t, name), f.sets.core(t, f.set)},
		}
		for _, p := range pairs {
			if p[1] == nil {
				return "a set is absent"
			}
			if diff := cmp.Diff(metav1.NewControllerRef(p[1], p[1].GroupVersionKind()), metav1.GetControllerOf(p[0])); diff != "" {
				return p[0].GetAPIVersion() + ": " + diff
			}
		}
		return ""
	})
}

// recreated waits for another set than was.
func (f *family) recreated(t *testing.T, was types.UID) {
	t.Helper()
	f.sets.eventually(t, "the set's mirror is recreated", func() string {
		if o := f.sets.core(t, f.set); o == nil || o.GetUID() == was {
			return show(o)
		}
		return f.sets.unsynced(t, f.sets.kind.MachineAPIGVK(), f.set)
	})
}

// TestRecreatedSets is about a MachineSet that is paused and recreated, and adopts nothing: Machines that only the other API's object ties to it.
func TestRecreatedSets(t *testing.T) {
	stories.Long(t)
	w := twinsWorld(t)
	t.Run("the Cluster API mirror of a set is deleted", w.clusterAPISetRecreated)
	t.Run("the Cluster API mirror of a set is gone at once, and its Machine names it still", w.clusterAPISetVanished)
	t.Run("the Machine API's set is recreated by its user, beside Cluster API's that is authoritative", w.machineAPISetRecreated)
}

func (w *world) clusterAPISetRecreated(t *testing.T) {
	f := w.family(t, "left", authority.MachineAPI)
	f.machine(t, "left-there", authority.ClusterAPI)
	f.machine(t, "left-here", authority.MachineAPI)
	f.machine(t, "left-released", authority.ClusterAPI)
	set := f.sets.core(t, f.set)
	w.patch(t, f.machines.core(t, "left-released"), "", `{"metadata":{"labels":{"machine.openshift.io/cluster-api-machineset":"elsewhere"}}}`)
	w.eventually(t, "the label is mirrored", func() string {
		if o := f.machines.mapi(t, "left-released"); o.GetLabels()["machine.openshift.io/cluster-api-machineset"] != "elsewhere" {
			return show(o)
		}
		return ""
	})
	if err := w.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	f.recreated(t, set.GetUID())
	f.owned(t, "left-there")
	f.owned(t, "left-here")
	w.quietFor(t, 5)
	if owner := metav1.GetControllerOf(f.machines.core(t, "left-released")); owner != nil {
		t.Errorf("what does not match the set's selector belongs to %v", owner)
	}
	// What was given here is the mirror's to keep, and to take, once the Machine API is authoritative again.
	f.machines.back(t, "left-there")
	f.owned(t, "left-there")
	w.patch(t, f.machines.mapi(t, "left-there"), "", `{"metadata":{"ownerReferences":null}}`)
	w.eventually(t, "the Machine API's set lets its Machine go, and the mirror's follows", func() string {
		if owner := metav1.GetControllerOf(f.machines.core(t, "left-there")); owner != nil {
			return fmt.Sprint(owner)
		}
		return ""
	})
}

// back stores that the Machine API is authoritative again.
func (w *twins) back(t *testing.T, name string) {
	t.Helper()
	w.patch(t, w.mapi(t, name), "", `{"spec":{"authoritativeAPI":"MachineAPI"}}`)
	w.patch(t, w.mapi(t, name), "status", `{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}}`)
	w.switchTo(t, w.kind.MachineAPIGVK(), name, authority.MachineAPI)
	w.eventually(t, name+" mirrored from the Machine API", func() string { return w.unsynced(t, w.kind.MachineAPIGVK(), name) })
}

// clusterAPISetVanished: no finalizer held the set, so its Machine was not detached. A collector would soon delete the Machine; there is none here.
func (w *world) clusterAPISetVanished(t *testing.T) {
	f := w.family(t, "vanished", authority.MachineAPI)
	f.machine(t, "vanished-there", authority.ClusterAPI)
	set := f.sets.core(t, f.set)
	w.patch(t, f.machines.core(t, "vanished-there"), "",
		fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":%q,"uid":"of-what-is-gone","controller":true,"blockOwnerDeletion":true}]}}`, f.set))
	f.owned(t, "vanished-there")
	w.quietFor(t, 5)
	if refs := f.machines.core(t, "vanished-there").GetOwnerReferences(); len(refs) != 1 || refs[0].UID != set.GetUID() {
		t.Errorf("owned by %v", refs)
	}
}

func (w *world) machineAPISetRecreated(t *testing.T) {
	f := w.family(t, "back", authority.ClusterAPI)
	f.machine(t, "back-here", authority.MachineAPI)
	f.machine(t, "back-there", authority.ClusterAPI)
	kept := f.sets.core(t, f.set).GetUID()
	if err := w.Delete(t.Context(), f.sets.mapi(t, f.set)); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the Machine API's set is gone", func() string {
		if o := f.sets.mapi(t, f.set); o != nil {
			return show(o)
		}
		return ""
	})
	if owner := metav1.GetControllerOf(f.machines.mapi(t, "back-here")); owner != nil {
		t.Fatalf("still owned by %v: a collector would delete it", owner)
	}
	f.sets.adopt(t, f.set, authority.ClusterAPI)
	f.owned(t, "back-here")
	w.quietFor(t, 5)
	if owner := metav1.GetControllerOf(f.machines.core(t, "back-here")); owner == nil || owner.UID != kept {
		t.Errorf("Cluster API's set acts and has lost its Machine to %v", owner)
	}
}
