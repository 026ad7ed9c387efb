// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"testing"
)

// keepsNames is about labels and annotations by which somebody knows an object.
func (w *world) keepsNames(t *testing.T) {
	theirs := `{"metadata":{"labels":{"app.kubernetes.io/instance":"fleet","hive.openshift.io/managed":"true","team":"a"},"annotations":{"argocd.argoproj.io/tracking-id":"fleet:set","note":"n"}}}`
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "", theirs)
	w.eventually(t, "what is the machine's is mirrored", func() string {
		o := w.get(t, clusterAPISet, capi, "worker-a")
		if o.GetLabels()["team"] != "a" || o.GetAnnotations()["note"] != "n" {
			return show(o)
		}
		return ""
	})
	for name, value := range w.get(t, clusterAPISet, capi, "worker-a").GetLabels() {
		if name == "app.kubernetes.io/instance" || name == "hive.openshift.io/managed" {
			t.Errorf("the twin is somebody's by the label %s=%s", name, value)
		}
	}
	if id := w.get(t, clusterAPISet, capi, "worker-a").GetAnnotations()["argocd.argoproj.io/tracking-id"]; id != "" {
		t.Errorf("the twin is GitOps' by the annotation %s", id)
	}
}

// leavesNames is about those that controllers of the Machine API keep although Cluster API is authoritative: they do not look at that.
func (w *world) leavesNames(t *testing.T) {
	w.patch(t, w.get(t, clusterAPISet, capi, "worker-a"), "",
		`{"metadata":{"annotations":{"machine.openshift.io/vCPU":"4","machine.openshift.io/memoryMb":"8192"}}}`)
	w.eventually(t, "Cluster API's copy, where nothing is yet", func() string {
		if o := w.get(t, machineAPISet, mapi, "worker-a"); o.GetAnnotations()["machine.openshift.io/vCPU"] != "4" {
			return show(o)
		}
		return ""
	})
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "", `{"metadata":{"annotations":{"machine.openshift.io/vCPU":"8"}}}`)
	w.patch(t, w.get(t, clusterAPISet, capi, "worker-a"), "", `{"metadata":{"annotations":{"note":"later"},"labels":{"app.kubernetes.io/instance":"other"}}}`)
	w.eventually(t, "a later edit of Cluster API's", func() string {
		if o := w.get(t, machineAPISet, mapi, "worker-a"); o.GetAnnotations()["note"] != "later" {
			return show(o)
		}
		return ""
	})
	w.settle(t)
	o := w.get(t, machineAPISet, mapi, "worker-a")
	got := fmt.Sprint(o.GetAnnotations()["machine.openshift.io/vCPU"], " ", o.GetAnnotations()["machine.openshift.io/memoryMb"], " ",
		o.GetLabels()["app.kubernetes.io/instance"])
	if got != "8 8192 fleet" {
		t.Errorf("the Machine API's set has %s", got)
	}
}
