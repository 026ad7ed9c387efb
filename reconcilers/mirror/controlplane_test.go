// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

var machineAPIControlPlane = schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1", Kind: "ControlPlaneMachineSet"}

// controlPlaneSet makes a set, or another in its place. Nobody acts for it here.
func (w *world) controlPlaneSet(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	master := w.get(t, machineAPIMachine, mapi, "master-0")
	labels := map[string]any{}
	for k, v := range master.GetLabels() {
		labels[k] = v
	}
	spec, _, _ := unstructured.NestedMap(master.Object, "spec", "providerSpec", "value")
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"machine.openshift.io/cluster-api-machine-role": "master"}},
		"template": map[string]any{"machineType": "machines_v1beta1_machine_openshift_io", "machines_v1beta1_machine_openshift_io": map[string]any{
			"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"providerSpec": map[string]any{"value": spec}},
		}},
	}}}
	o.SetGroupVersionKind(machineAPIControlPlane)
	o.SetNamespace(mapi)
	o.SetName("cluster")
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// master makes a Machine as master-0 is, which the set owns.
func (w *world) master(t *testing.T, name string, set *unstructured.Unstructured) {
	t.Helper()
	was := w.get(t, machineAPIMachine, mapi, "master-0")
	yes := true
	provider, _, _ := unstructured.NestedMap(was.Object, "spec", "providerSpec")
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"authoritativeAPI": "MachineAPI", "providerSpec": provider}}}
	o.SetGroupVersionKind(machineAPIMachine)
	o.SetNamespace(mapi)
	o.SetName(name)
	o.SetLabels(was.GetLabels())
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: set.GetAPIVersion(), Kind: set.GetKind(), Name: set.GetName(), UID: set.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}})
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.runs(t, name)
}

func (w *world) runs(t *testing.T, name string) {
	t.Helper()
	w.eventually(t, name+" runs and is mirrored", func() string {
		if m := w.get(t, machineAPIMachine, mapi, name); text(m, "status", "phase") != "Running" {
			return show(m)
		}
		return w.unsynced(t, machineAPIMachine, name)
	})
}

// movesOwned: the set has no twin, so its Machine's twin belongs to the Cluster alone, with the labels of a control plane's Machine. What is
// nobody's is recreated.
func (w *world) movesOwned(t *testing.T) {
	stories.Long(t)
	set := w.controlPlaneSet(t)
	w.master(t, "master-1", set)
	core := w.get(t, clusterAPIMachine, capi, "master-1")
	if refs := core.GetOwnerReferences(); len(refs) != 1 || refs[0].Kind != "Cluster" || metav1.GetControllerOf(core) != nil {
		t.Errorf("owned by %v", refs)
	}
	for _, label := range []string{"cluster.x-k8s.io/control-plane", "node-role.kubernetes.io/master"} {
		if _, has := core.GetLabels()[label]; !has {
			t.Errorf("no label %s: %v", label, core.GetLabels())
		}
	}
	if err := w.Delete(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the mirror again", func() string {
		if o := w.get(t, clusterAPIMachine, capi, "master-1"); o == nil || o.GetUID() == core.GetUID() {
			return "not yet"
		}
		return w.unsynced(t, machineAPIMachine, "master-1")
	})
	for _, to := range []authority.API{authority.ClusterAPI, authority.MachineAPI, authority.ClusterAPI} {
		w.move(t, machineAPIMachine, "master-1", to)
		m := w.get(t, machineAPIMachine, mapi, "master-1")
		if ref := metav1.GetControllerOf(m); ref == nil || ref.UID != set.GetUID() || m.GetDeletionTimestamp() != nil {
			t.Errorf("with %s authoritative: %s", to.Text(), show(m))
		}
	}
}

// outlives: the set is deleted, and nobody has taken the Machines out of the collector's reach. Another set bears its name at once.
func (w *world) outlives(t *testing.T) {
	stories.Long(t)
	old := w.get(t, machineAPIControlPlane, mapi, "cluster")
	if err := w.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	w.controlPlaneSet(t)
	w.eventually(t, "the collector has taken the mirror, and nothing else", func() string {
		if o := w.get(t, machineAPIMachine, mapi, "master-1"); o != nil {
			return show(o)
		}
		if core := w.get(t, clusterAPIMachine, capi, "master-1"); slices.Contains(core.GetFinalizers(), authority.SyncFinalizer) {
			return show(core)
		}
		return ""
	})
	w.waitQuiet(t)
	if core := w.get(t, clusterAPIMachine, capi, "master-1"); core == nil || core.GetDeletionTimestamp() != nil || text(core, "status", "phase") != "Running" {
		t.Errorf("%s", show(core))
	}
}

// endsOwned: "if a Machine API Machine that is owned is deleted, then the deletion event is synchronised to Cluster API": a set replaces by deleting.
func (w *world) endsOwned(t *testing.T) {
	stories.Long(t)
	w.master(t, "master-2", w.get(t, machineAPIControlPlane, mapi, "cluster"))
	w.move(t, machineAPIMachine, "master-2", authority.ClusterAPI)
	if err := w.Delete(t.Context(), w.get(t, machineAPIMachine, mapi, "master-2")); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "master-2 gone on both sides", func() string {
		for gvk, ns := range map[schema.GroupVersionKind]string{machineAPIMachine: mapi, clusterAPIMachine: capi, awsMachine: capi} {
			if o := w.get(t, gvk, ns, "master-2"); o != nil {
				return show(o)
			}
		}
		return ""
	})
	if err := w.Delete(t.Context(), w.get(t, machineAPIControlPlane, mapi, "cluster")); err != nil {
		t.Fatal(err)
	}
}
