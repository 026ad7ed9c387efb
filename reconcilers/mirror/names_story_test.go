// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// theirNames are labels and annotations by which somebody knows an object as their own, and what belongs to one object alone. The copy of such a name would
// make the twin theirs, too: to be pruned, scaled or restored with the rest.
func theirNames() (labels, annotations map[string]string) {
	return map[string]string{
			"app.kubernetes.io/instance": "fleet", "hive.openshift.io/managed": "true", "hive.openshift.io/machine-pool": "worker",
			"velero.io/backup-name": "b", "velero.io/restore-name": "r",
		}, map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": "{}", "argocd.argoproj.io/tracking-id": "fleet:set", "argocd.argoproj.io/sync-options": "Prune=false",
			"velero.io/source-cluster": "c", "autoscaling.openshift.io/machineautoscaler": "n/a", "metal3.io/autoscale-to-hosts": "yes",
			"capacity.cluster-autoscaler.kubernetes.io/cpu": "4", "capacity.cluster-autoscaler.kubernetes.io/memory": "16Gi",
			"capacity.cluster-autoscaler.kubernetes.io/gpu-count": "0", "capacity.cluster-autoscaler.kubernetes.io/gpu-type": "none",
			"capacity.cluster-autoscaler.kubernetes.io/maxPods": "250",
			"poundlock.openshift.io/allow-deletion":             "true",
		}
}

// keepsNames is about labels and annotations by which somebody knows an object: none is on the twin of a set or of a Machine, nor on the provider's object.
func (w *world) keepsNames(t *testing.T) {
	labels, annotations := theirNames()
	machine := w.newMachine(t, "named")
	for _, c := range []struct {
		of, twin schema.GroupVersionKind
		name     string
	}{{machineAPISet, clusterAPISet, "worker-a"}, {machineAPIMachine, clusterAPIMachine, machine}} {
		w.patch(t, w.get(t, c.of, mapi, c.name), "", named(t, labels, annotations, "later"))
		w.eventually(t, "what is the machine's is mirrored", func() string {
			o := w.get(t, c.twin, capi, c.name)
			if o.GetLabels()["team"] != "later" || o.GetAnnotations()["note"] != "later" {
				return show(o)
			}
			return ""
		})
		infra := w.get(t, awsMachine, capi, c.name)
		if c.of == machineAPISet {
			infra = w.template(t, c.name)
		}
		for _, o := range []*unstructured.Unstructured{w.get(t, c.twin, capi, c.name), infra} {
			for name := range labels {
				if value, has := o.GetLabels()[name]; has {
					t.Errorf("%s %s is somebody's by the label %s=%s", o.GetKind(), o.GetName(), name, value)
				}
			}
			for name := range annotations {
				if value, has := o.GetAnnotations()[name]; has {
					t.Errorf("%s %s is somebody's by the annotation %s=%s", o.GetKind(), o.GetName(), name, value)
				}
			}
		}
	}
	const selects = "app.kubernetes.io/instance"
	w.createSet(t, "selecting", func(o *unstructured.Unstructured) {
		for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
			_ = unstructured.SetNestedField(o.Object, "fleet", append(path, selects)...)
		}
		o.SetLabels(map[string]string{selects: "fleet"})
	})
	w.eventually(t, "the mirror of a set that selects by such a label", func() string { return w.unsynced(t, machineAPISet, "selecting") })
	set := w.get(t, clusterAPISet, capi, "selecting")
	if text(set, "spec", "selector", "matchLabels", selects) != "fleet" || text(set, "spec", "template", "metadata", "labels", selects) != "fleet" ||
		set.GetLabels()[selects] != "" {
		t.Errorf("its mirror selects otherwise, or is somebody's: %s", show(set))
	}
	if err := w.Delete(t.Context(), w.get(t, machineAPISet, mapi, "selecting")); err != nil {
		t.Fatal(err)
	}
	// By these, sets do not move, and mean something to the stories that follow.
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "", `{"metadata":{"annotations":{"metal3.io/autoscale-to-hosts":null,"poundlock.openshift.io/allow-deletion":null}}}`)
	if err := w.Delete(t.Context(), w.get(t, machineAPIMachine, mapi, machine)); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the Machine is gone", func() string {
		if o := w.get(t, machineAPIMachine, mapi, machine); o != nil {
			return show(o)
		}
		return ""
	})
}

// named is a patch of names, and of one of each sort that is nobody's.
func named(t *testing.T, labels, annotations map[string]string, own string) string {
	t.Helper()
	labels, annotations = maps.Clone(labels), maps.Clone(annotations)
	labels["team"], annotations["note"] = own, own
	out, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// newMachine makes a Machine of the Machine API's that no set owns, and waits for its mirror.
func (w *world) newMachine(t *testing.T, name string) string {
	t.Helper()
	o := w.get(t, machineAPIMachine, mapi, w.machines(t, machineAPIMachine, mapi, "worker-a")[0])
	o.Object = map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "spec": o.Object["spec"],
		"metadata": map[string]any{"name": name, "namespace": mapi, "labels": map[string]any{"machine.openshift.io/cluster-api-cluster": o.GetLabels()["machine.openshift.io/cluster-api-cluster"]}}}
	unstructured.RemoveNestedField(o.Object, "spec", "providerID")
	unstructured.RemoveNestedField(o.Object, "spec", "lifecycleHooks")
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, name+" is mirrored", func() string { return w.unsynced(t, machineAPIMachine, name) })
	return name
}

// leavesNames is about those that controllers of the Machine API keep although Cluster API is authoritative: they do not look at that.
func (w *world) leavesNames(t *testing.T) {
	w.patch(t, w.get(t, clusterAPISet, capi, "worker-a"), "",
		`{"metadata":{"annotations":{"machine.openshift.io/vCPU":"4","machine.openshift.io/memoryMb":"8192","capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=amd64"}}}`)
	w.eventually(t, "Cluster API's copy, where nothing is yet", func() string {
		if o := w.get(t, machineAPISet, mapi, "worker-a"); o.GetAnnotations()["machine.openshift.io/vCPU"] != "4" {
			return show(o)
		}
		return ""
	})
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "", `{"metadata":{"annotations":{"machine.openshift.io/vCPU":"8","capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=arm64"}}}`)
	before := w.get(t, machineAPISet, mapi, "worker-a")
	machine := w.machines(t, machineAPIMachine, mapi, "worker-a")[0]
	zone := w.get(t, machineAPIMachine, mapi, machine).GetLabels()["machine.openshift.io/zone"]
	w.patch(t, w.get(t, machineAPIMachine, mapi, machine), "",
		`{"metadata":{"labels":{"machine.openshift.io/zone":"found"},"annotations":{"machine.openshift.io/instance-state":"found","machine.openshift.io/instance-power-state":"found"}}}`)
	labels, annotations := theirNames()
	for _, all := range []map[string]string{labels, annotations} {
		for name := range all {
			all[name] = "other"
		}
	}
	delete(annotations, "poundlock.openshift.io/allow-deletion") // Poundlock's marks are of either side
	w.patch(t, w.get(t, clusterAPISet, capi, "worker-a"), "", named(t, labels, annotations, "latest"))
	w.eventually(t, "a later edit of Cluster API's", func() string {
		if o := w.get(t, machineAPISet, mapi, "worker-a"); o.GetAnnotations()["note"] != "latest" {
			return show(o)
		}
		return ""
	})
	w.settle(t)
	o := w.get(t, machineAPISet, mapi, "worker-a")
	for name := range labels {
		if was, is := before.GetLabels()[name], o.GetLabels()[name]; was != is {
			t.Errorf("the label %s is %q, and was %q", name, is, was)
		}
	}
	for name := range annotations {
		if was, is := before.GetAnnotations()[name], o.GetAnnotations()[name]; was != is {
			t.Errorf("the annotation %s is %q, and was %q", name, is, was)
		}
	}
	got := fmt.Sprint(o.GetAnnotations()["machine.openshift.io/vCPU"], " ", o.GetAnnotations()["machine.openshift.io/memoryMb"], " ",
		o.GetAnnotations()["capacity.cluster-autoscaler.kubernetes.io/labels"], " ", o.GetLabels()["app.kubernetes.io/instance"])
	if got != "8 8192 kubernetes.io/arch=arm64 fleet" {
		t.Errorf("the Machine API's set has %s", got)
	}
	m := w.get(t, machineAPIMachine, mapi, machine)
	found := fmt.Sprint(m.GetLabels()["machine.openshift.io/zone"], " ", m.GetAnnotations()["machine.openshift.io/instance-state"], " ",
		m.GetAnnotations()["machine.openshift.io/instance-power-state"])
	if found != "found found found" {
		t.Errorf("the Machine API's Machine has %s", found)
	}
	w.patch(t, m, "", fmt.Sprintf(`{"metadata":{"labels":{"machine.openshift.io/zone":%q},"annotations":{"machine.openshift.io/instance-power-state":null}}}`, zone))
}
