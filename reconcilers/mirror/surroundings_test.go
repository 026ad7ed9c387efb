// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

var (
	clusterObject = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}
	awsCluster    = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSCluster"}
	definition    = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	namespace     = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

// surroundings deletes what mirrors live in, one after the other, with the real collector, the real namespace controller and Cluster API's real core
// manager. None of that ends an instance of a Machine that Machine API is authoritative for, whether a set owns it or not, and whichever API the set is
// in the hands of. Everything that is deleted does go, and the mirrors come back with their surroundings.
func (w *world) surroundings(t *testing.T) {
	stories.Long(t)
	for _, name := range []string{"surrounded", "mixed"} {
		w.createSet(t, name, func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, int64(1), "spec", "replicas")
		})
	}
	for _, name := range []string{"surrounded", "mixed"} {
		w.eventually(t, name+" has a mirrored Machine that runs", func() string {
			names := w.machines(t, machineAPIMachine, mapi, name)
			if len(names) != 1 {
				return fmt.Sprint(names)
			}
			if phase := text(w.get(t, machineAPIMachine, mapi, names[0]), "status", "phase"); phase != "Running" {
				return phase
			}
			return w.unsynced(t, machineAPIMachine, names[0])
		})
	}
	for _, c := range []struct {
		gvk             schema.GroupVersionKind
		namespace, name string
		mixed, infra    bool
	}{
		{clusterObject, capi, "lock-7x2k9", true, false},
		{clusterObject, capi, "lock-7x2k9", false, true},
		{definition, "", "machines.cluster.x-k8s.io", false, false},
		{definition, "", "machinesets.cluster.x-k8s.io", false, false},
		{namespace, "", capi, false, false},
	} {
		t.Run(fmt.Sprintf("%s %s, with its infrastructure cluster: %t", c.gvk.Kind, c.name, c.infra), func(t *testing.T) {
			if c.mixed {
				w.move(t, machineAPISet, "mixed", authority.ClusterAPI)
			}
			var with []*unstructured.Unstructured
			if c.infra {
				with = append(with, w.get(t, awsCluster, capi, "lock-7x2k9"))
			}
			w.losesSurroundings(t, w.get(t, c.gvk, c.namespace, c.name), with...)
		})
	}
}

// losesSurroundings deletes o, and more with it, waits until it has gone, and recreates it.
func (w *world) losesSurroundings(t *testing.T, o *unstructured.Unstructured, with ...*unstructured.Unstructured) {
	t.Helper()
	w.waitQuiet(t)
	var machines []string
	w.eventually(t, "two Machines that run", func() string {
		if machines = w.running(t); len(machines) < 2 {
			return fmt.Sprint(machines)
		}
		return ""
	})
	again := []*unstructured.Unstructured{o}
	if o.GetKind() != definition.Kind {
		again = append(again, w.get(t, awsCluster, capi, "lock-7x2k9"))
	}
	if o.GetKind() == namespace.Kind {
		again = append(again, w.get(t, clusterObject, capi, "lock-7x2k9"))
	}
	for _, what := range append([]*unstructured.Unstructured{o}, with...) {
		if err := w.Delete(t.Context(), what.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	w.eventually(t, o.GetName()+" gone", func() string { return left(w.get(t, o.GroupVersionKind(), o.GetNamespace(), o.GetName())) })
	w.waitQuiet(t)
	if now := w.running(t); !slices.Equal(machines, now) {
		t.Errorf("Machine API was authoritative for %v, of which remain %v", machines, now)
	}
	if len(with) > 0 {
		for _, name := range machines {
			w.eventually(t, name+" tells why", func() string {
				o := w.get(t, machineAPIMachine, mapi, name)
				all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
				if !slices.ContainsFunc(all, func(c any) bool {
					value, ok := c.(map[string]any)
					return ok && value["type"] == "Synchronized" && value["status"] == "False" && value["reason"] == "SurroundingsDeleted"
				}) {
					return fmt.Sprint(all)
				}
				return ""
			})
		}
	}
	for _, what := range again {
		for _, field := range [][]string{{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "ownerReferences"},
			{"metadata", "finalizers"}, {"spec", "finalizers"}} {
			unstructured.RemoveNestedField(what.Object, field...)
		}
		w.eventually(t, what.GetName()+" recreated", func() string {
			if err := client.IgnoreAlreadyExists(w.Create(t.Context(), what.DeepCopy())); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	w.eventually(t, "the mirrors again", func() string {
		for _, name := range machines {
			core, infra := w.get(t, clusterAPIMachine, capi, name), w.get(t, awsMachine, capi, name)
			if core == nil || infra == nil || core.GetDeletionTimestamp() != nil || infra.GetDeletionTimestamp() != nil {
				return name + " " + left(core) + left(infra)
			}
			if why := w.unsynced(t, machineAPIMachine, name); why != "" {
				return name + " " + why
			}
		}
		return ""
	})
	if now := w.running(t); !slices.Equal(machines, now) {
		t.Errorf("Machine API was authoritative for %v, of which remain %v", machines, now)
	}
}

// running are the Machines that Machine API is authoritative for, that run and that nobody has deleted; worker-b does not convert.
func (w *world) running(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, o := range w.list(t, machineAPIMachine, mapi) {
		if !strings.HasPrefix(o.GetName(), "worker-b-") && text(o, "status", "authoritativeAPI") == "MachineAPI" && text(o, "status", "phase") == "Running" &&
			o.GetDeletionTimestamp() == nil {
			out = append(out, o.GetName())
		}
	}
	slices.Sort(out)
	return out
}

func left(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%s %s is there, deleted at %s, held by %v", o.GetKind(), o.GetName(), o.GetDeletionTimestamp(), o.GetFinalizers())
}
