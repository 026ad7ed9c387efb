// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/mirror"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/simulation"
	"github.com/poundlock/poundlock/test/testcluster"
)

const (
	mapi = "openshift-machine-api"
	capi = "openshift-cluster-api"
)

var (
	machineAPIMachine = schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1beta1", Kind: "Machine"}
	machineAPISet     = schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1beta1", Kind: "MachineSet"}
	clusterAPIMachine = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
	clusterAPISet     = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineSet"}
	awsMachine        = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachine"}
	awsTemplate       = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachineTemplate"}
)

// world is a cluster with a fleet, simulated controllers of both APIs, the real garbage collector, and the mirror.
type world struct {
	client.Client
	stage  *testcluster.Stage
	writes *writes
	// compared has each pair that Options.Compared was called with, and whether it existed.
	compared sync.Map
}

// TestMirror is one story on one control plane, since a control plane costs seconds.
func TestMirror(t *testing.T) {
	embedded.LeaveOut(t)
	stage, err := testcluster.Set(t.Context(), testcluster.Options{Bare: true, Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	w := &world{Client: stage.Admin, stage: stage, writes: &writes{}}
	w.start(t)
	t.Run("the fleet is mirrored, paused and owned", w.mirrors)
	t.Run("what does not convert is not mirrored, and every field is named", w.refuses)
	t.Run("an idle fleet costs no request that writes and moves no resourceVersion", w.rests)
	t.Run("edits are followed, drift is undone, a user's own label stays, a template comes back", w.followsEdits)
	t.Run("an empty object of the provider is followed", w.followsAnEmptyObject)
	t.Run("a person's copy of a template is left to its maker", w.leavesCopies)
	t.Run("what the API server refuses is told", w.refusedByServer)
	t.Run("a provider's machine that may not be changed is created again", w.replaces)
	t.Run("a MachineSet whose name is too long for a label is mirrored", w.mirrorsLongName)
	t.Run("what was cleaned up is marked anew, its template too", w.marksAnew)
	t.Run("what somebody else makes meanwhile is not written over", w.createsOnly)
	t.Run("the autoscaler's replicas reach the authoritative set, and people's are not taken for them", w.autoscales)
	t.Run("an unowned Cluster API mirror is recreated", w.remakes)
	t.Run("a control plane's Machine, which a set without a twin owns, moves there and back", w.movesOwned)
	t.Run("it outlives its set, in whose place another is generated", w.outlives)
	t.Run("and its owned mirror's deletion is its own", w.endsOwned)
	t.Run("names by which somebody knows an object are not mirrored", w.keepsNames)
	t.Run("Cluster API authoritative is mirrored back", w.movesOver)
	t.Run("what controllers of the mirror keep is left alone", w.leavesNames)
	t.Run("what a mirrored Cluster API set makes appears in the Machine API", w.reflects)
	t.Run("what Cluster API has on its own stays its own, until adopted", w.keepsIndependent)
	t.Run("an idle fleet is at rest with Cluster API authoritative, too", w.rests)
	w.writes.breakSome()
	t.Run("deleting the Machine API's mirror of a set ends no machine", w.keepsTheFleet)
	t.Run("deleting the Machine API's mirror of an unowned Machine ends no machine", w.letsGo)
	t.Run("deleting an owned mirror deletes the authoritative Machine", w.propagates)
	t.Run("back under Machine API, removals are followed", w.comesBack)
	t.Run("deleting the authoritative set ends everything", w.ends)
	t.Run("a Machine is born under Cluster API", w.born)
	t.Run("what mirrors live in is deleted, and no Machine of Machine API's with it", w.surroundings)
}

func (w *world) start(t *testing.T) {
	t.Helper()
	config := rest.CopyConfig(w.stage.Plane.Admin())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.writes.count(next) })
	log := logr.Discard()
	if testing.Verbose() {
		log = funcr.New(func(prefix, args string) { t.Log(prefix, args) }, funcr.Options{})
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: simulation.Scheme(), Metrics: server.Options{BindAddress: "0"}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := mirror.SetupWithManager(mgr, mirror.Options{Pairs: w.stage.Pairs, Compared: func(kind string, key types.NamespacedName, _ uint64, exists bool) {
		w.compared.Store(fmt.Sprint(kind, " ", key), exists)
	}}); err != nil {
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

// writes counts the requests of the mirror that are no reads.
type writes struct {
	mu   sync.Mutex
	sent []string
	// made are the bodies by which Machines of the Machine API were created.
	made []string
	// faulty breaks every third write: in turn before it reaches the API server, and after, so that only the answer is
	// lost. It is what a crash between two writes looks like to the next pass.
	faulty bool
	// stopped is sent what stop chooses; the request waits until it is sent something back.
	stop    func(*http.Request) bool
	stopped chan chan bool
}

// stopAt makes the next chosen request wait, and returns how to resume it.
func (w *writes) stopAt(chosen func(*http.Request) bool) <-chan chan bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop, w.stopped = chosen, make(chan chan bool, 1)
	return w.stopped
}

func (w *writes) wait(r *http.Request) {
	w.mu.Lock()
	stops := w.stop != nil && w.stop(r)
	if stops {
		w.stop = nil
	}
	w.mu.Unlock()
	if stops {
		goOn := make(chan bool)
		w.stopped <- goOn
		<-goOn
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *writes) count(next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
			w.wait(r)
			w.mu.Lock()
			w.sent = append(w.sent, r.Method+" "+r.URL.Path)
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+mapi+"/machines") {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				w.made = append(w.made, string(body))
			}
			n, faulty := len(w.sent), w.faulty
			w.mu.Unlock()
			if faulty && n%3 == 0 {
				// an event follows the answer to a write: with the answer of a set's condition it would be lost, and a test waits for it
				return broken(next, r, n%2 == 0 && !strings.HasSuffix(r.URL.Path, capi+"/machinesets/worker-a/status"))
			}
		}
		return next.RoundTrip(r)
	})
}

func broken(next http.RoundTripper, r *http.Request, reaches bool) (*http.Response, error) {
	if reaches {
		if answer, err := next.RoundTrip(r); err == nil {
			_ = answer.Body.Close()
		}
	}
	return nil, errors.New("the connection broke, as the test wants it")
}

func (w *writes) breakSome() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faulty = true
}

func (w *writes) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sent)
}

func (w *writes) bodies() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.made)
}

func (w *writes) since(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent[n:])
}

func (w *world) mirrors(t *testing.T) {
	for _, m := range w.list(t, machineAPIMachine, mapi) {
		if strings.HasPrefix(m.GetName(), "worker-b") {
			continue
		}
		w.eventually(t, "Machine "+m.GetName()+" in sync", func() string { return w.unsynced(t, machineAPIMachine, m.GetName()) })
		core, infra := w.get(t, clusterAPIMachine, capi, m.GetName()), w.get(t, awsMachine, capi, m.GetName())
		for _, o := range []*unstructured.Unstructured{core, infra} {
			if o.GetAnnotations()[authority.MirrorAnnotation] != "Machine/"+m.GetName() || o.GetAnnotations()[authority.PausedAnnotation] == "" {
				t.Errorf("%s %s: annotations %v", o.GetKind(), o.GetName(), o.GetAnnotations())
			}
		}
		if got, want := text(core, "spec", "providerID"), text(m, "spec", "providerID"); want != "" && got != want {
			t.Errorf("providerID %q, want %q", got, want)
		}
		if !slices.Contains(core.GetFinalizers(), authority.SyncFinalizer) || !slices.Contains(w.get(t, machineAPIMachine, mapi, m.GetName()).GetFinalizers(),
			authority.SyncFinalizer) {
			t.Errorf("%s: a core object lacks the sync finalizer", m.GetName())
		}
		if o := infra.GetOwnerReferences(); len(o) != 1 || o[0].UID != core.GetUID() {
			t.Errorf("%s: infrastructure owned by %v", m.GetName(), o)
		}
		wantOwner := "MachineSet"
		if m.GetName() == "master-0" {
			wantOwner = "Cluster"
		}
		// A Machine that is mirrored before its set is the Cluster's until the set has a twin.
		w.eventually(t, m.GetName()+" has its owner", func() string {
			owner := w.get(t, clusterAPIMachine, capi, m.GetName()).GetOwnerReferences()
			if len(owner) != 1 || owner[0].Kind != wantOwner || *owner[0].Controller != (wantOwner == "MachineSet") || !*owner[0].BlockOwnerDeletion {
				return fmt.Sprintf("owned by %v", owner)
			}
			return ""
		})
	}
	for _, s := range w.list(t, machineAPISet, mapi) {
		if s.GetName() == "worker-b" {
			continue
		}
		w.eventually(t, "MachineSet "+s.GetName()+" in sync", func() string { return w.unsynced(t, machineAPISet, s.GetName()) })
		core := w.get(t, clusterAPISet, capi, s.GetName())
		template := w.get(t, awsTemplate, capi, text(core, "spec", "template", "spec", "infrastructureRef", "name"))
		if template == nil || template.GetLabels()[machineapi.MachineSetLabel] != s.GetName() || !strings.HasPrefix(template.GetName(), s.GetName()+"-") {
			t.Errorf("template %v", template)
		}
	}
}

func (w *world) refuses(t *testing.T) {
	for _, gvk := range []schema.GroupVersionKind{machineAPIMachine, machineAPISet} {
		for _, o := range w.list(t, gvk, mapi) {
			if !strings.HasPrefix(o.GetName(), "worker-b") {
				continue
			}
			w.eventually(t, o.GetName()+" refused", func() string {
				c := condition(w.get(t, gvk, mapi, o.GetName()), "Synchronized")
				message, _ := c["message"].(string)
				if c["status"] != "False" || c["reason"] != "FieldsNotConvertible" || !strings.Contains(message, "deviceIndex") ||
					!strings.Contains(message, "kmsKey.filters") {
					return fmt.Sprint(c)
				}
				return ""
			})
			core := gvk
			core.Group, core.Version = "cluster.x-k8s.io", "v1beta2"
			if w.get(t, core, capi, o.GetName()) != nil || slices.Contains(w.get(t, gvk, mapi, o.GetName()).GetFinalizers(), authority.SyncFinalizer) {
				t.Errorf("%s %s has a mirror or the sync finalizer", o.GetKind(), o.GetName())
			}
		}
	}
}

func (w *world) rests(t *testing.T) {
	w.waitQuiet(t)
	before, sent := w.versions(t), w.writes.number()
	// An idle pass: every pair is looked at again because something that all conversions depend on was touched.
	w.patch(t, w.get(t, schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Infrastructure"}, "", "cluster"), "",
		fmt.Sprintf(`{"metadata":{"annotations":{"example.com/look":"%d"}}}`, sent))
	w.waitQuiet(t)
	if after := w.versions(t); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("resourceVersions moved:\n%v\n%v", before, after)
	}
	if more := w.writes.since(sent); len(more) > 0 {
		t.Errorf("writes: %v", more)
	}
	for _, kind := range authority.Kinds() {
		for _, o := range w.list(t, kind.MachineAPIGVK(), mapi) {
			// By an owner a set would lose the updates of its boot image, by the pause its autoscaler.
			if _, paused := o.GetAnnotations()[authority.PausedAnnotation]; kind.Name == "MachineSet" && (paused || len(o.GetOwnerReferences()) > 0) {
				t.Errorf("MachineSet %s is paused as Cluster API's are, or has an owner: %s", o.GetName(), show(o))
			}
			if exists, found := w.compared.Load(fmt.Sprintf("%s %s/%s", kind.Name, o.GetNamespace(), o.GetName())); !found || exists != true {
				t.Errorf("%s %s is not reported as compared", kind.Name, o.GetName())
			}
		}
	}
}

// waitQuiet waits until the mirror has sent nothing for a while.
func (w *world) waitQuiet(t *testing.T) {
	t.Helper()
	w.quietFor(t, 20)
}

func (w *world) quietFor(t *testing.T, looks int) {
	t.Helper()
	quiet := 0
	last := -1
	w.eventually(t, "the mirror at rest", func() string {
		n := w.writes.number()
		if n != last {
			last, quiet = n, 0
			return fmt.Sprintf("%d writes", n)
		}
		quiet++
		if quiet < looks {
			return "not quiet long enough"
		}
		return ""
	})
}

func (w *world) versions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for gvk, ns := range map[schema.GroupVersionKind]string{machineAPIMachine: mapi, machineAPISet: mapi, clusterAPIMachine: capi, clusterAPISet: capi,
		awsMachine: capi, awsTemplate: capi} {
		for _, o := range w.list(t, gvk, ns) {
			out[gvk.Group+"/"+gvk.Kind+"/"+o.GetName()] = o.GetResourceVersion()
		}
	}
	return out
}

// unsynced says why a Machine API object is not reported in sync, "" if it is.
func (w *world) unsynced(t *testing.T, gvk schema.GroupVersionKind, name string) string {
	t.Helper()
	o := w.get(t, gvk, mapi, name)
	if o == nil {
		return "absent"
	}
	generation := o.GetGeneration()
	if text(o, "status", "authoritativeAPI") == "ClusterAPI" || text(o, "status", "synchronizedAPI") == "ClusterAPI" &&
		text(o, "status", "authoritativeAPI") == "Migrating" {
		core := gvk
		core.Group, core.Version = "cluster.x-k8s.io", "v1beta2"
		if c := w.get(t, core, capi, name); c != nil {
			generation = c.GetGeneration()
		}
	}
	synchronized, _, _ := unstructured.NestedInt64(o.Object, "status", "synchronizedGeneration")
	c := condition(o, "Synchronized")
	if c["status"] != "True" || synchronized != generation {
		return fmt.Sprintf("generation %d, synchronized %d, %v", generation, synchronized, c)
	}
	return ""
}

func condition(o *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m
		}
	}
	return nil
}

func text(o *unstructured.Unstructured, path ...string) string {
	if o == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func (w *world) get(t *testing.T, gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	err := w.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return o
}

func (w *world) list(t *testing.T, gvk schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	t.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := w.List(t.Context(), l, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for i := range l.Items {
		out = append(out, &l.Items[i])
	}
	return out
}

func (w *world) patch(t *testing.T, o *unstructured.Unstructured, subresource, body string) {
	t.Helper()
	if o == nil {
		t.Fatal("nothing to patch")
	}
	var err error
	p := client.RawPatch(types.MergePatchType, []byte(body))
	if subresource == "" {
		err = w.Patch(t.Context(), o, p)
	} else {
		err = w.SubResource(subresource).Patch(t.Context(), o, p)
	}
	if err != nil {
		t.Fatalf("patching %s %s with %s: %v", o.GetKind(), o.GetName(), body, err)
	}
}

// eventually polls until missing has nothing to say.
func (w *world) eventually(t *testing.T, what string, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
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

func show(o *unstructured.Unstructured) string {
	raw, _ := json.MarshalIndent(o, "", " ")
	return string(raw)
}
