// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/remediation"
	"github.com/poundlock/poundlock/test/embedded"
)

const mapi, capi = "openshift-machine-api", "openshift-cluster-api"

var (
	machineAPI = schema.GroupVersion{Group: "machine.openshift.io", Version: "v1beta1"}
	clusterAPI = schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
)

// TestRemediation is one story on an API server, with the test as everybody else: the mirror, the handoff, kubelets, people.
func TestRemediation(t *testing.T) {
	crds, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plane := embedded.ForTest(t, embedded.Options{CRDs: crds})
	admin, err := client.New(plane.Admin(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Client: admin}
	for _, ns := range []string{mapi, capi} {
		w.create(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", ns), "")
	}
	w.run(t, plane)
	w.check(t)
	t.Run("unhealthy ones for which Machine API is authoritative are deleted, once, and nobody else", w.deletes)
	t.Run("the Machine and the check report it", w.events)
	t.Run("while authority over the check moves, nothing is deleted", w.waits)
	t.Run("nor for a check for which Machine API is authoritative, or whose rules it cannot say", w.leaves)
	t.Run("nor while more are unhealthy than the check allows", w.restricts)
	t.Run("one of Cluster API's is deleted if its set is paused there, and left to a set that is not", w.owners)
	t.Run("nor while the Cluster is paused, until it is unpaused", w.standsStill)
	t.Run("nor where a template says how to remediate, which an event reports, until its remediator gives up", w.templates)
}

type world struct {
	client.Client
	mu      sync.Mutex
	deleted []string
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *world) run(t *testing.T, plane *embedded.Plane) {
	t.Helper()
	config := ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}
	rest := plane.Admin()
	rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if r.Method == http.MethodDelete && err == nil && answer.StatusCode == http.StatusOK { // and not refused, since the object changed meanwhile
				w.mu.Lock()
				w.deleted = append(w.deleted, r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
				w.mu.Unlock()
			}
			return answer, err
		})
	})
	mgr, err := ctrl.NewManager(rest, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := remediation.SetupWithManager(mgr, remediation.Options{Pairs: authority.Pairs{{MachineAPI: mapi, ClusterAPI: capi}}}); err != nil {
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

func (w *world) deletions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(slices.Values(w.deleted))
}

func (w *world) create(t *testing.T, manifest, status string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if status != "" {
		w.status(t, o, status)
	}
}

func (w *world) status(t *testing.T, o *unstructured.Unstructured, status string) {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(status), &content); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"status": content})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, body)); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func of(gv schema.GroupVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gv.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func (w *world) patch(t *testing.T, o *unstructured.Unstructured, body string) {
	t.Helper()
	if err := w.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		t.Fatal(err)
	}
}

func (w *world) check(t *testing.T) {
	t.Helper()
	w.create(t, fmt.Sprintf("{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: %s}, spec: {paused: false, "+
		"infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: c}}}", capi), "")
	w.create(t, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: workers, namespace: openshift-cluster-api}
spec:
  clusterName: c
  selector: {matchLabels: {role: worker}}
  checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]}`, "")
	w.create(t, `
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: workers, namespace: openshift-machine-api}
spec:
  authoritativeAPI: ClusterAPI
  selector: {matchLabels: {role: worker}}
  unhealthyConditions: [{type: Ready, status: Unknown, timeout: 5m}]`, standing("ClusterAPI", "True"))
}

// standing is what the handoff and the mirror say of a check.
func standing(current, synchronized string) string {
	return fmt.Sprintf("{authoritativeAPI: %s, synchronizedAPI: ClusterAPI, synchronizedGeneration: 1, conditions: [{type: Synchronized, status: %q, lastTransitionTime: '2026-01-01T00:00:00Z'}]}",
		current, synchronized)
}

// machine is a Machine on both sides, and its Node.
type machine struct {
	name, current string
	healthy       bool
	owner, mirror string // parts of metadata
	role          string
}

const (
	mastered = "ownerReferences: [{apiVersion: machine.openshift.io/v1, kind: ControlPlaneMachineSet, name: cluster, uid: u, controller: true}], "
	owned    = "ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: s, uid: u, controller: true}], "
	since    = "2026-01-01T00:00:00Z"
)

func (w *world) machine(t *testing.T, m machine) {
	t.Helper()
	if m.role == "" {
		m.role = "worker"
	}
	ready := "True"
	if !m.healthy {
		ready = "Unknown"
	}
	w.create(t, fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s}}", m.name),
		fmt.Sprintf("{conditions: [{type: Ready, status: %q, lastTransitionTime: %q, reason: Test, message: x}]}", ready, since))
	w.create(t, fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: %[1]s, namespace: %[2]s, labels: {role: %[3]s, cluster.x-k8s.io/cluster-name: c},
		annotations: {cluster.x-k8s.io/paused: "true", poundlock.openshift.io/mirror-of: Machine/%[1]s%[4]s}},
		spec: {clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: %[1]s}}}`, m.name, capi, m.role, m.mirror),
		fmt.Sprintf("{nodeRef: {name: %s}, phase: Running}", m.name))
	if m.current == "" {
		return
	}
	w.create(t, fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: %s, namespace: %s, %s labels: {role: %s}, finalizers: [machine.machine.openshift.io]},
		spec: {authoritativeAPI: MachineAPI, providerSpec: {value: {}}}}`, m.name, mapi, m.owner, m.role),
		fmt.Sprintf("{authoritativeAPI: %s, synchronizedAPI: MachineAPI, phase: Running, nodeRef: {kind: Node, name: %s}}", m.current, m.name))
}

func (w *world) deletes(t *testing.T) {
	for _, m := range []machine{
		{name: "well", current: "MachineAPI", owner: owned, healthy: true},
		{name: "unowned", current: "MachineAPI"},
		{name: "moving", current: "Migrating", owner: owned},
		{name: "cluster-apis", current: "ClusterAPI", owner: owned},
		{name: "cluster-apis-alone"},
		{name: "skipped", current: "MachineAPI", owner: owned, mirror: `, cluster.x-k8s.io/skip-remediation: ""`},
		{name: "unselected", current: "MachineAPI", owner: owned, role: "infra"},
		{name: "sick", current: "MachineAPI", owner: owned},
	} {
		w.machine(t, m)
	}
	w.eventually(t, "sick deleted", func() string { return w.remains(t, "sick") })
	w.poke(t)
	if got := w.deletions(); !slices.Equal(got, []string{"sick"}) {
		t.Errorf("deleted %v", got)
	}
}

func (w *world) remains(t *testing.T, name string) string {
	t.Helper()
	o := of(machineAPI, "Machine", mapi, name)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() == nil {
		return fmt.Sprintf("%v, %v", err, o.Object["metadata"])
	}
	return ""
}

func (w *world) events(t *testing.T) {
	w.eventually(t, "an event on each", func() string {
		l := &eventsv1.EventList{}
		if err := w.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		var reported []string
		for _, e := range l.Items {
			reported = append(reported, fmt.Sprintf("%s %s %s/%s", e.Reason, e.Regarding.Kind, e.Regarding.Namespace, e.Regarding.Name))
		}
		slices.Sort(reported)
		if !slices.Equal(reported, []string{"RemediationCarriedOver MachineHealthCheck openshift-cluster-api/workers",
			"UnhealthyNode Machine openshift-machine-api/sick"}) {
			return fmt.Sprint(reported)
		}
		return ""
	})
}

func (w *world) waits(t *testing.T) {
	check := of(machineAPI, "MachineHealthCheck", mapi, "workers")
	w.status(t, check, standing("Migrating", "True"))
	w.machine(t, machine{name: "in-time", current: "MachineAPI", owner: owned})
	w.poke(t)
	if got := w.deletions(); len(got) != 1 {
		t.Errorf("deleted %v while the check moves", got)
	}
	w.status(t, check, standing("ClusterAPI", "True"))
	w.eventually(t, "in-time deleted", func() string { return w.remains(t, "in-time") })
}

func (w *world) leaves(t *testing.T) {
	check, core := of(machineAPI, "MachineHealthCheck", mapi, "workers"), of(clusterAPI, "MachineHealthCheck", capi, "workers")
	w.status(t, check, "{authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI}")
	w.status(t, check, standing("MachineAPI", "True"))
	w.machine(t, machine{name: "later", current: "MachineAPI", owner: owned})
	w.poke(t)
	w.status(t, check, "{authoritativeAPI: Migrating}")
	w.patch(t, core, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"true"}}}`)
	w.status(t, check, standing("ClusterAPI", "True"))
	w.poke(t)
	w.status(t, check, standing("ClusterAPI", "False"))
	w.patch(t, core, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	w.poke(t)
	if got := w.deletions(); len(got) != 2 {
		t.Errorf("deleted %v", got)
	}
	w.status(t, check, standing("ClusterAPI", "True"))
	w.eventually(t, "later deleted", func() string { return w.remains(t, "later") })
}

func (w *world) restricts(t *testing.T) {
	// Those that are being deleted and those that nobody may touch count: eight are not well, whichever API is authoritative for them.
	w.patch(t, of(machineAPI, "MachineHealthCheck", mapi, "workers"), `{"spec":{"maxUnhealthy":8}}`)
	w.machine(t, machine{name: "one-too-many", current: "MachineAPI", owner: owned})
	w.poke(t)
	if got := w.deletions(); len(got) != 3 {
		t.Errorf("deleted %v", got)
	}
	w.patch(t, of(machineAPI, "MachineHealthCheck", mapi, "workers"), `{"spec":{"maxUnhealthy":9}}`)
	w.eventually(t, "one-too-many deleted", func() string { return w.remains(t, "one-too-many") })
}

// owners plays Machines for which Cluster API is authoritative: owned by a set of Machine API's, by one of Cluster API's, by one that moves,
// by a control plane's set, and by none.
func (w *world) owners(t *testing.T) {
	w.patch(t, of(machineAPI, "MachineHealthCheck", mapi, "workers"), `{"spec":{"maxUnhealthy":"100%"}}`)
	for name, current := range map[string]string{"paused": "MachineAPI", "active": "ClusterAPI", "between": "Migrating"} {
		annotations := `cluster.x-k8s.io/paused: "true"`
		if current == "ClusterAPI" {
			annotations = ""
		}
		w.create(t, fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: %s, namespace: %s, annotations: {%s}},
			spec: {clusterName: c, selector: {matchLabels: {set: s}}, template: {metadata: {labels: {set: s}}, spec: {clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: t}}}}}`,
			name, capi, annotations), "")
		w.create(t, fmt.Sprintf(
			`{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: %s, namespace: %s}, spec: {authoritativeAPI: MachineAPI, selector: {matchLabels: {set: s}}, template: {metadata: {labels: {set: s}}}}}`,
			name, mapi),
			fmt.Sprintf("{authoritativeAPI: %s, synchronizedAPI: MachineAPI}", current))
		set := of(clusterAPI, "MachineSet", capi, name)
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			t.Fatal(err)
		}
		w.machine(t, machine{name: name + "-m", current: "ClusterAPI", owner: owned})
		w.patch(t, of(clusterAPI, "Machine", capi, name+"-m"), fmt.Sprintf(
			`{"metadata":{"finalizers":["machine.cluster.x-k8s.io"],"annotations":{"cluster.x-k8s.io/paused":null},"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":%q,"uid":%q,"controller":true}]}}`,
			name, set.GetUID()))
	}
	// One of the control plane, which a set without a mirror owns, and one like it that has no owner in either API.
	for name, owner := range map[string]string{"master-m": mastered, "master-alone": ""} {
		w.machine(t, machine{name: name, current: "ClusterAPI", owner: owner})
		w.patch(t, of(clusterAPI, "Machine", capi, name), `{"metadata":{"finalizers":["machine.cluster.x-k8s.io"],"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	}
	before := w.deletions()
	for _, name := range []string{"paused-m", "master-m"} {
		w.eventually(t, name+" deleted in Cluster API", func() string {
			o := of(clusterAPI, "Machine", capi, name)
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() == nil {
				return fmt.Sprintf("%v, %v", err, o.Object["metadata"])
			}
			return ""
		})
	}
	w.poke(t)
	if got := w.deletions(); len(got) > len(before)+2 || slices.Contains(got, "active-m") || slices.Contains(got, "between-m") ||
		slices.Contains(got, "master-alone") {
		t.Errorf("deleted %v, after %v", got, before)
	}
}

func (w *world) standsStill(t *testing.T) {
	cluster := of(clusterAPI, "Cluster", capi, "c")
	before := w.deletions()
	w.patch(t, cluster, `{"spec":{"paused":true}}`)
	w.machine(t, machine{name: "stands-still", current: "MachineAPI", owner: owned})
	w.machine(t, machine{name: "master-still", current: "ClusterAPI", owner: mastered})
	w.patch(t, of(clusterAPI, "Machine", capi, "master-still"),
		`{"metadata":{"finalizers":["machine.cluster.x-k8s.io"],"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	w.poke(t)
	if got := w.deletions(); !slices.Equal(got, before) {
		t.Errorf("deleted %v while the Cluster is paused, after %v", got, before)
	}
	w.patch(t, cluster, `{"spec":{"paused":false}}`)
	w.eventually(t, "stands-still deleted", func() string { return w.remains(t, "stands-still") })
	w.eventually(t, "both deleted", func() string {
		if got := w.deletions(); len(got) != len(before)+2 {
			return fmt.Sprint(got)
		}
		return ""
	})
}

func (w *world) templates(t *testing.T) {
	w.patch(t, of(machineAPI, "MachineHealthCheck", mapi, "workers"),
		`{"spec":{"maxUnhealthy":"100%","remediationTemplate":{"apiVersion":"a.b/v1","kind":"RebootTemplate","name":"r"}}}`)
	w.machine(t, machine{name: "rebooted", current: "MachineAPI", owner: owned})
	w.machine(t, machine{name: "given-up", current: "ClusterAPI", owner: mastered})
	givenUp := of(clusterAPI, "Machine", capi, "given-up")
	w.patch(t, givenUp, `{"metadata":{"finalizers":["machine.cluster.x-k8s.io"],"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	w.eventually(t, "it is told", func() string {
		l := &eventsv1.EventList{}
		if err := w.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Items {
			if e.Reason == "RemediationNotCarriedOver" && strings.Contains(e.Note, "rebooted") {
				return ""
			}
		}
		return fmt.Sprintf("%d events", len(l.Items))
	})
	w.poke(t)
	if got := w.deletions(); slices.Contains(got, "given-up") {
		t.Errorf("deleted %v while the remediator works", got)
	}
	w.status(t, givenUp, `{conditions: [{type: HealthCheckSucceeded, status: "False", reason: R, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"},
		{type: OwnerRemediated, status: "False", reason: R, message: "", lastTransitionTime: "2026-01-01T00:01:00Z"}]}`)
	w.eventually(t, "given-up deleted", func() string {
		if got := w.deletions(); !slices.Contains(got, "given-up") {
			return fmt.Sprint(got)
		}
		return ""
	})
	if got := w.deletions(); !slices.Equal(got, []string{"given-up", "in-time", "later", "master-m", "master-still", "one-too-many", "paused-m", "sick",
		"stands-still"}) {
		t.Errorf("deleted %v", got)
	}
}

// poke returns when the controller has looked at the check as it is now.
func (w *world) poke(t *testing.T) {
	t.Helper()
	for range 2 { // the first look may have begun before
		before := passes(t)
		w.patch(t, of(machineAPI, "MachineHealthCheck", mapi, "workers"), fmt.Sprintf(`{"metadata":{"labels":{"poke":"%d"}}}`, time.Now().UnixNano()))
		w.eventually(t, "another look", func() string {
			if passes(t) == before {
				return "not yet"
			}
			return ""
		})
	}
}

func passes(t *testing.T) (n uint64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "controller_runtime_reconcile_time_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			n += m.GetHistogram().GetSampleCount()
		}
	}
	return n
}

// eventually polls until missing has nothing to say.
func (w *world) eventually(t *testing.T, what string, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		why := missing()
		if why == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s: %s", what, why)
		case <-tick.C:
		}
	}
}
