// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// TestWhatTheAutoscalerActsBy is about Machines and sets of Cluster API's in the eyes of an autoscaler that reads and writes the Machine API's mirrors alone.
func TestWhatTheAutoscalerActsBy(t *testing.T) {
	stories.Long(t)
	w := twinsWorld(t)
	machines, sets := &twins{w, authority.Kinds()[0]}, &twins{w, authority.Kinds()[1]}
	t.Run("a Machine that does not convert keeps a true status and providerID", machines.staysTrue)
	t.Run("a set that does not convert keeps its true replicas, and is scaled", sets.staysScaled)
	t.Run("marks come and go in a few writes", machines.marksInFewWrites)
	t.Run("a set is emptied where its limits allow it", sets.isEmptied)
}

// unconvertible is the Machine API's name of an annotation that Cluster API calls differently.
const unconvertible = `{"metadata":{"annotations":{"machine.openshift.io/exclude-node-draining":""}}}`

func (w *twins) fails(t *testing.T, name string) {
	t.Helper()
	w.patch(t, w.core(t, name), "", unconvertible)
	w.eventually(t, name+" does not convert", func() string {
		if c := condition(w.mapi(t, name), "Synchronized"); c["reason"] != "FieldsNotConvertible" {
			return fmt.Sprint(c)
		}
		return ""
	})
}

func (w *twins) staysTrue(t *testing.T) {
	w.adopt(t, "converts-not", authority.MachineAPI)
	w.mirrored(t, "converts-not", 0)
	w.over(t, "converts-not")
	w.fails(t, "converts-not")
	w.patch(t, w.mapi(t, "converts-not"), "status", `{"status":{"errorReason":"CreateError","errorMessage":"no capacity"}}`)
	w.patch(t, w.core(t, "converts-not"), "", `{"spec":{"providerID":"aws:///us-east-1a/i-1"}}`)
	w.patch(t, w.core(t, "converts-not"), "status", `{"status":{"nodeRef":{"name":"node-1"},"phase":"Running"}}`)
	w.eventually(t, "the mirror has the Node and the ID, and no error that Cluster API does not have", func() string {
		if o := w.mapi(t, "converts-not"); text(o, "status", "nodeRef", "name") != "node-1" || text(o, "status", "phase") != "Running" ||
			text(o, "spec", "providerID") != "aws:///us-east-1a/i-1" || text(o, "status", "errorMessage") != "" || text(o, "status", "errorReason") != "" {
			return show(o)
		}
		return ""
	})
	w.quietFor(t, 10)
	w.patch(t, w.core(t, "converts-not"), "", `{"metadata":{"annotations":{"machine.openshift.io/exclude-node-draining":null}}}`)
	w.eventually(t, "the whole Machine", func() string { return w.unsynced(t, w.kind.MachineAPIGVK(), "converts-not") })
	if o := w.mapi(t, "converts-not"); text(o, "spec", "providerID") != "aws:///us-east-1a/i-1" {
		t.Errorf("the ID is lost: %s", show(o))
	}
	w.quietFor(t, 10)
}

func (w *twins) staysScaled(t *testing.T) {
	w.adopt(t, "scaled", authority.MachineAPI)
	w.mirrored(t, "scaled", 0)
	w.over(t, "scaled")
	w.fails(t, "scaled")
	w.patch(t, w.core(t, "scaled"), "", `{"spec":{"replicas":3}}`)
	w.replicas(t, "scaled", 3)
	w.scaleAs(t, w.mapi(t, "scaled"), "scale", 5)
	w.replicas(t, "scaled", 5)
	w.quietFor(t, 10)
}

func (w *twins) replicas(t *testing.T, name string, want int64) {
	t.Helper()
	w.eventually(t, fmt.Sprintf("%d replicas on both sides", want), func() string {
		if here, there := replicas(w.mapi(t, name)), replicas(w.core(t, name)); here != want || there != want {
			return fmt.Sprint(here, there)
		}
		return ""
	})
}

// marksInFewWrites counts: one carries the mark over, one takes over the mirror's, and taking it back is one; and the finalizers and marks of nobody change.
func (w *twins) marksInFewWrites(t *testing.T) {
	w.adopt(t, "marked", authority.MachineAPI)
	w.mirrored(t, "marked", 0)
	w.over(t, "marked")
	w.quietFor(t, 10)
	for _, marked := range []bool{true, false, true, false} {
		before := w.writes.number()
		w.eventually(t, "the autoscaler's write", func() string {
			o := w.mapi(t, "marked")
			annotations := o.GetAnnotations()
			for _, name := range []string{"machine.openshift.io/delete-machine", "machine.openshift.io/cluster-api-delete-machine"} {
				if annotations[name] = name; !marked {
					delete(annotations, name)
				}
			}
			o.SetAnnotations(annotations)
			if err := w.Update(t.Context(), o, client.FieldOwner(authority.AutoscalerManager)); err != nil {
				return err.Error()
			}
			return ""
		})
		w.eventually(t, "the mark has come over", func() string {
			if o := w.core(t, "marked"); (o.GetAnnotations()["cluster.x-k8s.io/delete-machine"] != "") != marked {
				return show(o)
			}
			return w.unsynced(t, w.kind.MachineAPIGVK(), "marked")
		})
		w.quietFor(t, 10)
		if sent := w.writes.since(before); len(sent) > 3 {
			t.Errorf("marked %t: %d writes: %v", marked, len(sent), sent)
		}
		for _, o := range []*unstructured.Unstructured{w.mapi(t, "marked"), w.core(t, "marked")} {
			all := o.GetAnnotations()
			older := all["machine.openshift.io/cluster-api-delete-machine"] != ""
			if older != (marked && o.GetAPIVersion() == "machine.openshift.io/v1beta1") {
				t.Errorf("marked %t: %s", marked, show(o))
			}
		}
	}
}

func (w *twins) isEmptied(t *testing.T) {
	const least = "machine.openshift.io/cluster-api-autoscaler-node-group-min-size"
	for name, want := range map[string]int64{"empties": 0, "keeps": 2} {
		w.adopt(t, name, authority.MachineAPI, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{least: fmt.Sprint(want / 2)})
			_ = unstructured.SetNestedField(o.Object, int64(2), "spec", "replicas")
		})
		w.mirrored(t, name, 0)
		w.over(t, name)
		w.replicas(t, name, 2)
		w.scaleAs(t, w.mapi(t, name), "scale", 0)
		w.quietFor(t, 10)
		w.replicas(t, name, want)
	}
}
