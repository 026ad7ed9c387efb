// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package surroundings_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/surroundings"
	"github.com/poundlock/poundlock/test/embedded"
)

const world = `
{apiVersion: v1, kind: Namespace, metadata: {name: mapi}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: capi}}
---
{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster}, spec: {platformSpec: {type: AWS}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: capi}, spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: c}}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, metadata: {name: c, namespace: capi}, spec: {region: us-east-1}}
---
{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: alone, namespace: mapi}, spec: {}}
---
{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: one, namespace: mapi, finalizers: [sync.machine.openshift.io/finalizer]}, spec: {}}
---
{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: two, namespace: mapi, finalizers: [sync.machine.openshift.io/finalizer]}, spec: {}}
`

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestMarks: Poundlock annotates each object that mirrors live in with their number, while there are any. A pass over correct annotations writes nothing.
// Numbers are corrected once a minute and no sooner. The annotations are removed with the last mirror.
func TestMarks(t *testing.T) {
	crds, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plane := embedded.ForTest(t, embedded.Options{CRDs: crds})
	admin, err := client.New(plane.Admin(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]*unstructured.Unstructured{}
	for text := range strings.SplitSeq(world, "---") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		made[o.GetName()] = o
	}
	patch(t, admin.Status(), made["cluster"],
		`{"status":{"infrastructureName":"c","controlPlaneTopology":"HighlyAvailable","infrastructureTopology":"HighlyAvailable","platformStatus":{"type":"AWS"}}}`)
	var writes atomic.Int64
	config := rest.CopyConfig(plane.Admin())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				writes.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	var later atomic.Int64 // minutes
	began := time.Now()
	start(t, config, func() time.Time { return began.Add(time.Duration(later.Load()) * time.Minute) })

	eventually(t, "all are marked", admin, "2 Machines")
	passesAfter(t, 0) // the one that marked them
	before, passes := writes.Load(), passed(t)
	patch(t, admin, made["alone"], `{"metadata":{"annotations":{"a":"b"}}}`)
	patch(t, admin, made["one"], `{"metadata":{"finalizers":null}}`)
	passesAfter(t, passes)
	if n := writes.Load() - before; n != 0 {
		t.Errorf("%d writes within a minute, in which nothing but a number has changed", n)
	}
	later.Add(1)
	third := made["two"].DeepCopy()
	third.SetName("three")
	third.SetResourceVersion("")
	third.SetFinalizers(nil)
	if err := admin.Create(t.Context(), third); err != nil { // news, which is no mirror
		t.Fatal(err)
	}
	eventually(t, "one is no longer mirrored", admin, "1 Machine")
	if n := writes.Load() - before; n != int64(len(marked())) {
		t.Errorf("%d writes, want one for each of %d marks", n, len(marked()))
	}
	patch(t, admin, made["two"], `{"metadata":{"finalizers":null}}`)
	eventually(t, "none is mirrored", admin, "")
}

// passed is how many passes have ended, as the metric has it.
func passed(t *testing.T) (n float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetValue() == "surroundings" {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

// passesAfter waits for one pass more than there were.
func passesAfter(t *testing.T, before float64) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return passed(t) > before, nil
	})
	if err != nil {
		t.Fatalf("no pass: %v", err)
	}
}

func start(t *testing.T, config *rest.Config, now func() time.Time) {
	t.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	if err := surroundings.SetupWithManager(mgr, surroundings.Options{Pairs: authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}}, Now: now}); err != nil {
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

type object struct {
	gvk             schema.GroupVersionKind
	namespace, name string
}

func marked() []object {
	out := []object{
		{schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", "mapi"}, {schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", "capi"},
		{schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}, "capi", "c"},
		{schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSCluster"}, "capi", "c"},
	}
	for _, name := range append(authority.Definitions(), "awsmachines.infrastructure.cluster.x-k8s.io", "awsmachinetemplates.infrastructure.cluster.x-k8s.io",
		"awsclusters.infrastructure.cluster.x-k8s.io") {
		out = append(out, object{schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "", name})
	}
	return out
}

// eventually polls until each object has the mark.
func eventually(t *testing.T, what string, c client.Client, want string) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := ""
		for _, m := range marked() {
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(m.gvk)
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: m.namespace, Name: m.name}, o); err != nil {
				t.Fatal(err)
			}
			if got := o.GetAnnotations()[authority.HoldsMirrorsAnnotation]; got != want {
				missing = fmt.Sprintf("%s %s has the mark %q, want %q", m.gvk.Kind, m.name, got, want)
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s: %s", what, missing)
		case <-tick.C:
		}
	}
}

type patcher interface {
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error
}

func patch(t *testing.T, w any, o *unstructured.Unstructured, body string) {
	t.Helper()
	p := client.RawPatch("application/merge-patch+json", []byte(body))
	var err error
	if status, ok := w.(patcher); ok {
		err = status.Patch(t.Context(), o, p)
	} else {
		err = w.(client.Client).Patch(t.Context(), o, p)
	}
	if err != nil {
		t.Fatal(err)
	}
}
