// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// machine creates a Machine on a side, owned by the set of that side or by nobody.
func (w *world) machine(on authority.API, child string, owned bool) {
	w.Helper()
	set, owner := w.of(w.mapi()), ""
	spec := "{providerSpec: {value: {}}}"
	if on == authority.ClusterAPI {
		set = w.of(w.core())
		spec = fmt.Sprintf("{clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: %s, kind: AWSMachine, name: %s}}", infraGroup, child)
	}
	if owned {
		owner = fmt.Sprintf(", ownerReferences: [{apiVersion: %s, kind: MachineSet, name: %s, uid: %s, controller: true}]",
			set.GetAPIVersion(), set.GetName(), set.GetUID())
	}
	w.create(fmt.Sprintf("{apiVersion: %s, kind: Machine, metadata: {name: %s, namespace: %s, labels: {a: b}%s}, spec: %s}",
		set.GetAPIVersion(), child, set.GetNamespace(), owner, spec))
}

// gone deletes a side's Machine.
func (w *world) gone(on authority.API, child string) {
	w.Helper()
	of := w.mapi()
	if on == authority.ClusterAPI {
		of = w.core()
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(of.GroupVersion().WithKind("Machine"))
	u.SetNamespace(of.namespace)
	u.SetName(child)
	if err := w.Delete(w.Context(), u); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
}

// waitsFor wants the pair to stay where it is, and to say that it is for one of its Machines.
func (w *world) waitsFor(current authority.API, words string) {
	w.Helper()
	for range 8 {
		w.everybody()
		w.pass()
	}
	value := w.shape().Condition(authority.ConditionSettled)
	if w.shape().Current != current || value.Reason != authority.ReasonUncounted || !strings.Contains(value.Message, words) {
		w.Fatalf("status is %s, and %s: %s; want %s and the words %q", w.shape().Current, value.Reason, value.Message, current, words)
	}
	if n := w.pass(); n != 0 {
		w.Errorf("waiting wrote %d times", n)
	}
}

func TestASetThatIsAskedToMoveWaitsForItsMachines(t *testing.T) {
	w := newWorld(t, "MachineSet")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.machine(authority.MachineAPI, "x", true)
	w.request(authority.ClusterAPI)
	w.waitsFor(authority.MachineAPI, "Machine x: it has no Cluster API object")
	w.machine(authority.ClusterAPI, "x", false)
	w.waitsFor(authority.MachineAPI, "Machine x: its Cluster API object has no owner reference")
	w.gone(authority.ClusterAPI, "x")
	w.machine(authority.ClusterAPI, "x", true)
	w.waitSettled(authority.ClusterAPI)
}

// A set makes Machines until it has paused, after the request was acknowledged.
func TestASetThatIsOnItsWayWaitsForItsMachines(t *testing.T) {
	for _, end := range []string{"mirrored", "deleted", "cancelled"} {
		t.Run(end, func(t *testing.T) {
			w := newWorld(t, "MachineSet")
			w.machineAPI(authority.ClusterAPI)
			w.waitSettled(authority.ClusterAPI)
			w.request(authority.MachineAPI)
			for w.shape().Current != authority.Migrating {
				w.everybody()
				w.pass()
			}
			w.machine(authority.ClusterAPI, "born", true)
			w.waitsFor(authority.Migrating, "Machine born: it has no Machine API object")
			switch end {
			case "mirrored":
				w.machine(authority.MachineAPI, "born", true)
			case "deleted":
				w.gone(authority.ClusterAPI, "born")
			case "cancelled":
				w.request(authority.ClusterAPI)
				w.waitSettled(authority.ClusterAPI)
				return
			}
			w.waitSettled(authority.MachineAPI)
		})
	}
}

// What was Cluster API's from the first, as in a restored cluster, may own Machines of the Machine API.
func TestASetThatIsAdoptedIsNotReleasedBeforeItCountsItsMachines(t *testing.T) {
	w := newWorld(t, "MachineSet")
	w.machineAPI(authority.ClusterAPI)
	w.machine(authority.MachineAPI, "before", true)
	w.waitsFor(authority.ClusterAPI, "Machine before: it has no Cluster API object")
	if !w.pausedSince(w.core()) {
		t.Fatal("Cluster API's set is released, and would create a Machine")
	}
	w.machine(authority.ClusterAPI, "before", true)
	w.waitSettled(authority.ClusterAPI)
}

// absent is an API server without a definition, or with one that is being deleted.
type absent struct {
	client.Reader
	definition string
	deleted    *metav1.Time
}

func (a absent) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if o.GetObjectKind().GroupVersionKind() != facts.DefinitionKind || key.Name != a.definition {
		return a.Reader.Get(ctx, key, o, opts...)
	}
	if o.SetDeletionTimestamp(a.deleted); a.deleted == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "customresourcedefinitions"}, key.Name)
	}
	return nil
}

// The Machine's own condition may still report the deletion of a definition that is gone.
func TestASetWaitsForTheDefinitionOfItsMachines(t *testing.T) {
	w := newWorld(t, "MachineSet")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.machine(authority.MachineAPI, "x", true)
	w.request(authority.ClusterAPI)
	live := w.r.live
	w.r.live = absent{live, "machines.cluster.x-k8s.io", &metav1.Time{Time: time.Now()}}
	w.waitsFor(authority.MachineAPI, "Machine x: it has no Cluster API object: CustomResourceDefinition machines.cluster.x-k8s.io is being deleted. When it is gone, install Cluster API")
	w.r.live = absent{live, "machines.cluster.x-k8s.io", nil}
	w.waitsFor(authority.MachineAPI, "CustomResourceDefinition machines.cluster.x-k8s.io does not exist. Install Cluster API again")
	if text := w.shape().Condition(authority.ConditionSettled).Message; strings.Contains(text, "delete it") {
		t.Error(text)
	}
	w.r.live = live
	w.waitsFor(authority.MachineAPI, "If a Machine does not convert, edit or delete it.")
	w.machine(authority.ClusterAPI, "x", true)
	w.waitSettled(authority.ClusterAPI)
}

// TestAMachineReachesTheSetThatCountsIt: by its owner, or without one by its label.
func TestAMachineReachesTheSetThatCountsIt(t *testing.T) {
	kind, _ := authority.KindNamed("MachineSet")
	r := &reconciler{kind: kind, pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}}}
	owner := func(kind, name string) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{Kind: kind, Name: name, Controller: &yes}}
	}
	for sentence, c := range map[string]struct {
		label  string
		owners []metav1.OwnerReference
		want   string
	}{
		"its owner":             {owners: owner("MachineSet", "s"), want: "m/s"},
		"its owner, not label":  {label: "other", owners: owner("MachineSet", "s"), want: "m/s"},
		"its label, for want":   {label: "s", want: "m/s"},
		"an owner of another":   {label: "s", owners: owner("ControlPlaneMachineSet", "cluster")},
		"neither one nor other": {},
	} {
		u := &unstructured.Unstructured{}
		u.SetNamespace("c")
		u.SetOwnerReferences(c.owners)
		u.SetLabels(map[string]string{"machine.openshift.io/cluster-api-machineset": c.label})
		got := ""
		for _, request := range r.above(t.Context(), u) {
			got += request.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}

// checksOf is a reader of one MachineHealthCheck and of one Cluster.
type checksOf struct {
	client.Reader
	check, cluster map[string]any
}

func (c checksOf) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if l, ok := into.(*unstructured.UnstructuredList); ok {
		l.Items = []unstructured.Unstructured{{Object: c.check}}
	}
	return nil
}

func (c checksOf) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	u, ok := into.(*unstructured.Unstructured)
	if !ok || c.cluster == nil || u.GroupVersionKind() != facts.ClusterKind || key != (client.ObjectKey{Namespace: "capi", Name: "k"}) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, key.Name)
	}
	u.Object = c.cluster
	return nil
}

// TestAMarkWhileTheClusterIsPaused: no check takes its mark of a Machine back while the Cluster is paused, so the Machine's set does not move.
func TestAMarkWhileTheClusterIsPaused(t *testing.T) {
	object := func(text string) *policies.Object {
		o, err := policies.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	cluster := func(paused bool) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "k"}, "spec": map[string]any{"paused": paused}}
	}
	for text, c := range map[string]struct {
		cluster map[string]any
		want    int
	}{
		"it is":         {cluster(true), 1},
		"it is not":     {cluster(false), 0},
		"there is none": {nil, 0},
	} {
		r, p := &reconciler{}, &pair{}
		from := checksOf{
			check: map[string]any{"metadata": map[string]any{"name": "h"}, "spec": map[string]any{
				"clusterName": "k", "selector": map[string]any{"matchLabels": map[string]any{"set": "a"}}}},
			cluster: c.cluster,
		}
		roster := authority.Roster{
			Sets: map[authority.API]*policies.Object{
				authority.ClusterAPI: object(`{"metadata":{"name":"a","namespace":"capi","uid":"c"},"spec":{"clusterName":"k","selector":{"matchLabels":{"set":"a"}}}}`),
			},
			Machines: map[authority.API][]*policies.Object{authority.ClusterAPI: {object(
				`{"metadata":{"name":"x","labels":{"set":"a","cluster.x-k8s.io/cluster-name":"k"},"ownerReferences":[{"uid":"c","kind":"MachineSet","name":"a",` +
					`"controller":true}]},"status":{"conditions":[{"type":"HealthCheckSucceeded","status":"False"},{"type":"OwnerRemediated","status":"False"}]}}`)}},
		}
		if err := r.gatherJudged(t.Context(), from, p, roster); err != nil || len(p.objects.Judged) != c.want {
			t.Errorf("%s: %v, %v", text, p.objects.Judged, err)
		}
	}
}
