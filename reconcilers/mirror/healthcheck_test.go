// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/mirror"
	"github.com/poundlock/poundlock/test/embedded"
)

var (
	machineAPICheck = schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1beta1", Kind: "MachineHealthCheck"}
	clusterAPICheck = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineHealthCheck"}
)

// The cluster's platform is one that Poundlock converts no machines of: a check is the same on all.
const checkedCluster = `
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {name: cluster}
spec: {platformSpec: {type: None}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: lock-7x2k9, namespace: openshift-cluster-api}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: NoCluster, name: lock-7x2k9}}
---
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: workers, namespace: openshift-machine-api}
spec:
  selector: {matchLabels: {machine.openshift.io/cluster-api-machine-role: worker}}
  unhealthyConditions: [{type: Ready, status: Unknown, timeout: 5m}]
  maxUnhealthy: "2"
`

// TestMirrorOfAHealthCheck is a story on an API server, with the test as the controllers and the handoff.
func TestMirrorOfAHealthCheck(t *testing.T) {
	w := sharedWorld(t, checkedCluster, `{"type":"None"}`)
	t.Run("a Machine beside it is told that its platform cannot be migrated yet", w.platformTold)
	t.Run("it appears in Cluster API, paused, and what it counts too", w.checkAppears)
	t.Run("nothing is left to write", w.checkRests)
	t.Run("what cannot go is named, and the mirror stays", w.checkRefused)
	t.Run("its mirror is recreated", w.checkRemade)
	t.Run("Cluster API authoritative is mirrored back", w.checkMovesOver)
	t.Run("nothing is left to write then either", w.checkRests)
	t.Run("and Machine API authoritative again", w.checkMovesBack)
	t.Run("deleting the authoritative one deletes its mirror", w.checkEnds)
	t.Run("deleting the Machine API's mirror leaves Cluster API's check alone", w.checkDetached)
}

func (w *world) mirror(t *testing.T, plane *embedded.Plane) {
	t.Helper()
	config := ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}
	rest := plane.Admin()
	rest.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.writes.count(next) })
	mgr, err := ctrl.NewManager(rest, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := mirror.SetupWithManager(mgr, mirror.Options{Pairs: authority.Pairs{{MachineAPI: mapi, ClusterAPI: capi}}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (w *world) check(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return w.get(t, clusterAPICheck, capi, name)
}

// authoritative is what the handoff stores, without its steps between.
func (w *world) authoritative(t *testing.T, name string, api authority.API) {
	t.Helper()
	if text(w.get(t, machineAPICheck, mapi, name), "status", "authoritativeAPI") != "" {
		w.patch(t, w.get(t, machineAPICheck, mapi, name), "status", `{"status":{"authoritativeAPI":"Migrating"}}`)
	}
	w.patch(t, w.get(t, machineAPICheck, mapi, name), "", fmt.Sprintf(`{"spec":{"authoritativeAPI":%q}}`, api))
	w.switchTo(t, machineAPICheck, name, api)
	w.eventually(t, name+" mirrored from "+api.Text(), func() string { return w.unsynced(t, machineAPICheck, name) })
}

// platformTold: the Machine stays the Machine API's, whatever is asked for, and nothing is made of it.
func (w *world) platformTold(t *testing.T) {
	machine := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(
		[]byte(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: openshift-machine-api}, spec: {authoritativeAPI: MachineAPI}}`),
		&machine.Object); err != nil {
		t.Fatal(err)
	}
	if err := w.Create(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	w.patch(t, machine, "status", `{"status":{"authoritativeAPI":"MachineAPI"}}`)
	w.patch(t, machine, "", `{"spec":{"authoritativeAPI":"ClusterAPI"}}`)
	w.eventually(t, "it is told", func() string {
		c := condition(w.get(t, machine.GroupVersionKind(), mapi, "m"), "Synchronized")
		if c["status"] != "False" || c["reason"] != "PlatformNotSupported" || c["message"] != platforms.Unsupported("None") {
			return fmt.Sprint(c)
		}
		return ""
	})
	if o := w.get(t, schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}, capi, "m"); o != nil {
		t.Errorf("something was made of it: %s", show(o))
	}
}

func (w *world) checkAppears(t *testing.T) {
	w.authoritative(t, "workers", authority.MachineAPI)
	o := w.check(t, "workers")
	if o.GetAnnotations()[authority.PausedAnnotation] == "" || o.GetAnnotations()[authority.MirrorAnnotation] != "MachineHealthCheck/workers" ||
		!slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) {
		t.Errorf("%s", show(o))
	}
	if owners := o.GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "Cluster" || *owners[0].Controller {
		t.Errorf("owned by %v", owners)
	}
	spec := fmt.Sprint(o.Object["spec"])
	want := "map[checks:map[nodeStartupTimeoutSeconds:600 unhealthyNodeConditions:[map[status:Unknown timeoutSeconds:300 type:Ready]]] clusterName:lock-7x2k9 " +
		"remediation:map[triggerIf:map[unhealthyLessThanOrEqualTo:2]] selector:map[matchLabels:map[machine.openshift.io/cluster-api-machine-role:worker]]]"
	if spec != want {
		t.Errorf("spec %s\nwant %s", spec, want)
	}
	w.patch(t, w.get(t, machineAPICheck, mapi, "workers"), "status", `{"status":{"expectedMachines":3,"currentHealthy":2,"remediationsAllowed":1}}`)
	w.eventually(t, "its counts mirrored", func() string {
		status := w.check(t, "workers").Object["status"]
		if fmt.Sprint(status) != "map[currentHealthy:2 expectedMachines:3 remediationsAllowed:1]" {
			return fmt.Sprint(status)
		}
		return ""
	})
}

func (w *world) checkRests(t *testing.T) {
	w.waitQuiet(t)
	sent := w.writes.number()
	w.patch(t, w.get(t, schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Infrastructure"}, "", "cluster"), "",
		fmt.Sprintf(`{"metadata":{"annotations":{"example.com/look":"%d"}}}`, sent))
	w.waitQuiet(t)
	if more := w.writes.since(sent); len(more) > 0 {
		t.Errorf("writes: %v", more)
	}
}

func (w *world) checkRefused(t *testing.T) {
	w.patch(t, w.get(t, machineAPICheck, mapi, "workers"), "",
		`{"metadata":{"annotations":{"machine.openshift.io/remediation-strategy":"external-baremetal"}},"spec":{"selector":{"matchLabels":null},"nodeStartupTimeout":"5s"}}`)
	w.eventually(t, "every field named", func() string {
		c := condition(w.get(t, machineAPICheck, mapi, "workers"), "Synchronized")
		message, _ := c["message"].(string)
		if c["status"] != "False" || c["reason"] != "FieldsNotConvertible" || !strings.Contains(message, "spec.selector") ||
			!strings.Contains(message, "spec.nodeStartupTimeout") || !strings.Contains(message, "machine.openshift.io/remediation-strategy") {
			return fmt.Sprint(c)
		}
		return ""
	})
	w.patch(t, w.get(t, machineAPICheck, mapi, "workers"), "",
		`{"metadata":{"annotations":{"machine.openshift.io/remediation-strategy":null}},"spec":{"selector":{"matchLabels":{"machine.openshift.io/cluster-api-machine-role":"worker"}},"nodeStartupTimeout":"0","maxUnhealthy":"40%"}}`)
	w.eventually(t, "mirrored again", func() string { return w.unsynced(t, machineAPICheck, "workers") })
	if spec := fmt.Sprint(w.check(t, "workers").Object["spec"]); !strings.Contains(spec, "nodeStartupTimeoutSeconds:0") ||
		!strings.Contains(spec, "unhealthyLessThanOrEqualTo:40%") {
		t.Error(spec)
	}
}

func (w *world) checkRemade(t *testing.T) {
	before := w.check(t, "workers")
	if err := w.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "recreated", func() string {
		if o := w.check(t, "workers"); o == nil || o.GetUID() == before.GetUID() {
			return "not yet"
		}
		return w.unsynced(t, machineAPICheck, "workers")
	})
	if o := w.get(t, machineAPICheck, mapi, "workers"); o.GetDeletionTimestamp() != nil {
		t.Error("the authoritative one is being deleted")
	}
}

func (w *world) checkMovesOver(t *testing.T) {
	w.authoritative(t, "workers", authority.ClusterAPI)
	w.patch(t, w.check(t, "workers"), "",
		`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null},"labels":{"from":"capi"}},"spec":{"remediation":{"triggerIf":{"unhealthyLessThanOrEqualTo":1}}}}`)
	w.patch(t, w.check(t, "workers"), "status",
		`{"status":{"expectedMachines":4,"currentHealthy":4,"remediationsAllowed":1,"conditions":[{"type":"RemediationAllowed","status":"True","reason":"RemediationAllowed","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	w.eventually(t, "an edit of Cluster API's mirrored", func() string {
		o := w.get(t, machineAPICheck, mapi, "workers")
		limit, _, _ := unstructured.NestedInt64(o.Object, "spec", "maxUnhealthy")
		expected, _, _ := unstructured.NestedInt64(o.Object, "status", "expectedMachines")
		if limit != 1 || expected != 4 || o.GetLabels()["from"] != "capi" || condition(o, "RemediationAllowed")["status"] != "True" {
			return show(o)
		}
		return w.unsynced(t, machineAPICheck, "workers")
	})
	if o := w.check(t, "workers"); o.GetAnnotations()[authority.PausedAnnotation] != "" {
		t.Error("paused again")
	}
}

func (w *world) checkMovesBack(t *testing.T) {
	w.patch(t, w.check(t, "workers"), "", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"true"}}}`)
	w.authoritative(t, "workers", authority.MachineAPI)
	w.patch(t, w.get(t, machineAPICheck, mapi, "workers"), "", `{"metadata":{"labels":{"from":null}},"spec":{"maxUnhealthy":"100%"}}`)
	w.eventually(t, "an edit of Machine API's mirrored", func() string {
		o := w.check(t, "workers")
		if text(o, "spec", "remediation", "triggerIf", "unhealthyLessThanOrEqualTo") != "100%" || o.GetLabels()["from"] != "" {
			return show(o)
		}
		return w.unsynced(t, machineAPICheck, "workers")
	})
}

func (w *world) checkEnds(t *testing.T) {
	if err := w.Delete(t.Context(), w.get(t, machineAPICheck, mapi, "workers")); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "both gone", func() string {
		for gvk, namespace := range map[schema.GroupVersionKind]string{machineAPICheck: mapi, clusterAPICheck: capi} {
			if o := w.get(t, gvk, namespace, "workers"); o != nil {
				return show(o)
			}
		}
		return ""
	})
}

// checkDetached adopts a check of Cluster API's own, then lets it go again.
func (w *world) checkDetached(t *testing.T) {
	own := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "own", "namespace": capi},
		"spec": map[string]any{"clusterName": "lock-7x2k9", "selector": map[string]any{"matchLabels": map[string]any{"a": "b"}},
			"checks": map[string]any{"unhealthyNodeConditions": []any{map[string]any{"type": "Ready", "status": "False", "timeoutSeconds": int64(90)}}}},
	}}
	own.SetGroupVersionKind(clusterAPICheck)
	if err := w.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	twin := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "own", "namespace": mapi},
		"spec":     map[string]any{"authoritativeAPI": "ClusterAPI", "selector": map[string]any{}, "unhealthyConditions": []any{map[string]any{"type": "x", "status": "y", "timeout": "1s"}}},
	}}
	twin.SetGroupVersionKind(machineAPICheck)
	twin.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "operator", UID: "gone", Controller: ptr.To(true)}}) // which makes it no Machine
	if err := w.Create(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	w.authoritative(t, "own", authority.ClusterAPI)
	if err := w.Delete(t.Context(), w.get(t, machineAPICheck, mapi, "own")); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the Machine API's mirror gone", func() string {
		if o := w.get(t, machineAPICheck, mapi, "own"); o != nil {
			return show(o)
		}
		if o := w.check(t, "own"); slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) || o.GetAnnotations()[authority.MirrorAnnotation] != "" {
			return show(o)
		}
		return ""
	})
	w.waitQuiet(t)
	if o := w.check(t, "own"); o == nil || o.GetDeletionTimestamp() != nil {
		t.Errorf("%s", show(o))
	}
}
