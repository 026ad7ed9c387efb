// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
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
	// GitOps', Hive's, and that of the managed-upgrade-operator, which is in nobody's domain.
	selects := []string{"app.kubernetes.io/instance", "hive.openshift.io/machine-pool", "upgrade.managed.openshift.io"}
	w.createSet(t, "selecting", func(o *unstructured.Unstructured) {
		labels := map[string]string{}
		for _, name := range selects {
			for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
				_ = unstructured.SetNestedField(o.Object, "fleet", append(path, name)...)
			}
			labels[name] = "fleet"
		}
		o.SetLabels(labels)
	})
	w.eventually(t, "the mirror of a set that selects by such a label", func() string { return w.unsynced(t, machineAPISet, "selecting") })
	set := w.get(t, clusterAPISet, capi, "selecting")
	for _, name := range selects {
		if text(set, "spec", "selector", "matchLabels", name) != "fleet" || text(set, "spec", "template", "metadata", "labels", name) != "fleet" ||
			set.GetLabels()[name] != "" && authority.Theirs(name) {
			t.Errorf("its mirror selects otherwise, or is somebody's, by %s: %s", name, show(set))
		}
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
	w.waitQuiet(t)
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
	w.keepsCopies(t)
	m := w.get(t, machineAPIMachine, mapi, machine)
	found := fmt.Sprint(m.GetLabels()["machine.openshift.io/zone"], " ", m.GetAnnotations()["machine.openshift.io/instance-state"], " ",
		m.GetAnnotations()["machine.openshift.io/instance-power-state"])
	if found != "found found found" {
		t.Errorf("the Machine API's Machine has %s", found)
	}
	w.patch(t, m, "", fmt.Sprintf(`{"metadata":{"labels":{"machine.openshift.io/zone":%q},"annotations":{"machine.openshift.io/instance-power-state":null}}}`, zone))
}

// keepsCopies is about such a name that a mirror of an earlier release copied to the Machine API, where somebody goes by it now. An apply without it would take
// it away.
func (w *world) keepsCopies(t *testing.T) {
	const copied = "hive.openshift.io/version"
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "", `{"metadata":{"labels":{"`+copied+`":"4"}}}`)
	w.eventually(t, "the name is the mirror's", func() string {
		o := w.get(t, machineAPISet, mapi, "worker-a")
		var entries []metav1.ManagedFieldsEntry
		for _, e := range o.GetManagedFields() {
			var fields map[string]any
			if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
				return err.Error()
			}
			labels := []string{"f:metadata", "f:labels", "f:" + copied}
			if unstructured.RemoveNestedField(fields, labels...); e.Manager == ownership.Manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
				_ = unstructured.SetNestedMap(fields, map[string]any{}, labels...)
			}
			raw, err := json.Marshal(fields)
			if err != nil {
				return err.Error()
			}
			e.FieldsV1 = metav1.NewFieldsV1(string(raw))
			entries = append(entries, e)
		}
		o.SetManagedFields(entries)
		if err := w.Update(t.Context(), o); err != nil {
			return err.Error()
		}
		if !ownership.Owns(w.get(t, machineAPISet, mapi, "worker-a"), managedfields.Path("metadata", "labels", copied)) {
			return show(o)
		}
		return ""
	})
	w.patch(t, w.get(t, clusterAPISet, capi, "worker-a"), "", `{"metadata":{"annotations":{"note":"last"}}}`)
	w.eventually(t, "one more edit of Cluster API's", func() string {
		if o := w.get(t, machineAPISet, mapi, "worker-a"); o.GetAnnotations()["note"] != "last" {
			return show(o)
		}
		return ""
	})
	w.waitQuiet(t)
	if o := w.get(t, machineAPISet, mapi, "worker-a"); o.GetLabels()[copied] != "4" {
		t.Errorf("the mirror took away what it no longer copies: %s", show(o))
	}
}
