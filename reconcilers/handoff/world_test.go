// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/embedded"
)

var plane *embedded.Plane // set once, by TestMain

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	crds, err := embedded.CRDs(context.Background(), "AWS", "GCP", "VSphere")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(embedded.Main(m, embedded.Options{CRDs: crds}, func(p *embedded.Plane) error {
		plane = p
		return nil
	}))
}

// world is one pair of namespaces with one pair of objects, and the test as everybody but the handoff: the user, the
// controllers of both sides, the mirror.
type world struct {
	*testing.T
	client.Client
	kind   authority.Kind
	pair   authority.Pair
	infra  schema.GroupVersionKind
	r      *reconciler
	writes *atomic.Int64
	events *events.FakeRecorder
	// silent: the controller that makes the instance has asked for it, and does not store its ID.
	silent bool
	// madeNow: the provider has just made its object for the instance, in the last pass before it saw the pause.
	madeNow bool
	// starting: the mirror of this process has not seen the pair yet.
	starting bool
	// blind: the Machine API's controller knows no authority, obeys the pause annotation alone, and answers nothing.
	blind bool
}

const name = "one"

func newWorld(t *testing.T, kindName string) *world {
	t.Helper()
	kind, _ := authority.KindNamed(kindName)
	w := &world{T: t, kind: kind, writes: &atomic.Int64{}, events: events.NewFakeRecorder(1000)}
	w.infra = schema.GroupVersionKind{Group: infraGroup, Version: "v1beta2", Kind: "AWSMachine"}
	if !kind.InfraActs() {
		w.infra.Kind = "AWSMachineTemplate"
	}
	var err error
	if w.Client, err = client.New(plane.Admin(), client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	w.pair = authority.Pair{MachineAPI: w.namespace("machine-api-"), ClusterAPI: w.namespace("cluster-api-")}
	counted, err := client.New(counting(plane.Admin(), w.writes), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMeters()
	if err != nil {
		t.Fatal(err)
	}
	w.r = &reconciler{
		kind: kind, pairs: authority.Pairs{w.pair}, enabled: func(authority.Kind) bool { return true },
		compared: func(string, types.NamespacedName, uint64) bool { return !w.starting }, now: time.Now,
		cache: counted, live: counted, writer: counted, mapper: counted.RESTMapper(), recorder: w.events, meters: m,
		follow: func(schema.GroupVersionKind) error { return nil },
	}
	return w
}

// counting counts the requests that change something, accepted or not.
func counting(c *rest.Config, writes *atomic.Int64) *rest.Config {
	c = rest.CopyConfig(c)
	c.QPS = -1
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				writes.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *world) namespace(prefix string) string {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	if err := w.Create(w.Context(), ns); err != nil {
		w.Fatal(err)
	}
	return ns.Name
}

func (w *world) create(manifest string) {
	w.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
		w.Fatal(err)
	}
	// The mirror's writes are refused, too, where a namespace is being deleted.
	if err := w.Create(w.Context(), o); client.IgnoreAlreadyExists(err) != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		w.Fatalf("creating %s: %v", o.GetKind(), err)
	}
}

// machineAPI creates the Machine API object, as a person or a MachineSet does.
func (w *world) machineAPI(of authority.API) {
	w.Helper()
	w.create(fmt.Sprintf(map[string]string{
		"Machine":            "{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: %s, namespace: %s}, spec: {authoritativeAPI: %s, providerSpec: {value: {}}}}",
		"MachineSet":         "{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: %s, namespace: %s}, spec: {authoritativeAPI: %s, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {providerSpec: {value: {}}}}}}",
		"MachineHealthCheck": "{apiVersion: machine.openshift.io/v1beta1, kind: MachineHealthCheck, metadata: {name: %s, namespace: %s}, spec: {authoritativeAPI: %s, selector: {matchLabels: {a: b}}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 5m}]}}",
	}[w.kind.Name], name, w.pair.MachineAPI, of))
}

// makeTwin makes a paused twin.
func (w *world) makeTwin() {
	w.Helper()
	mark := fmt.Sprintf("annotations: {cluster.x-k8s.io/paused: \"true\", poundlock.openshift.io/mirror-of: %s/%s}", w.kind.Name, name)
	machine := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %%s, namespace: %%s, %s}, spec: %s}",
		w.infra.GroupVersion(), w.infra.Kind, mark, map[string]string{
			"AWSMachine": "{instanceType: m6i.large}", "VSphereMachine": "{template: rhcos, network: {devices: [{networkName: net}]}}",
		}[w.infra.Kind])
	ref := fmt.Sprintf("clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: %s, kind: %s, name: %s}", infraGroup, w.infra.Kind, name)
	for _, manifest := range map[string][]string{
		"Machine": {
			machine,
			"{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: %s, namespace: %s, " + mark + "}, spec: {" + ref + "}}",
		},
		"MachineSet": {
			"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachineTemplate, metadata: {name: %s, namespace: %s, " + mark +
				"}, spec: {template: {spec: {instanceType: m6i.large}}}}",
			"{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: %s, namespace: %s, " + mark +
				"}, spec: {clusterName: c, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {" + ref + "}}}}",
		},
		"MachineHealthCheck": {
			"{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineHealthCheck, metadata: {name: %s, namespace: %s, " + mark +
				"}, spec: {clusterName: c, selector: {matchLabels: {a: b}}}}",
		},
	}[w.kind.Name] {
		w.create(fmt.Sprintf(manifest, name, w.pair.ClusterAPI))
	}
}

// mirrorRuns is the mirror: it makes a paused twin, and says what it has seen of the source.
func (w *world) mirrorRuns() {
	w.Helper()
	w.makeTwin()
	w.mirrorID()
	m, shape := w.of(w.mapi()), w.shape()
	if authority.Spares(pairs.ObjectOf(m), shape) {
		w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.SparedAnnotation: authority.SparedUntilReady}}})
	}
	generation := m.GetGeneration()
	if authority.Source(shape) == authority.ClusterAPI {
		generation = w.of(w.core()).GetGeneration()
	}
	if core := w.of(w.core()); authority.Source(shape) == authority.ClusterAPI && generation < shape.SynchronizedGeneration {
		w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			authority.CoreGenerationAnnotation: authority.CoreGeneration(core.GetUID(), generation)}}})
	}
	if authority.Source(shape) == authority.ClusterAPI && w.kind.InfraActs() {
		w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			authority.InfraGenerationAnnotation: fmt.Sprint(w.of(w.provider()).GetGeneration())}}})
	}
	w.merge(w.mapi(), "status", map[string]any{"status": map[string]any{
		"synchronizedGeneration": max(generation, shape.SynchronizedGeneration),
		"conditions":             with(m, condition(authority.ConditionSynchronized, "True", "", "Synced", "in step")),
	}})
}

// with are the conditions of an object with this one, whose status has just become what it is.
func with(o *unstructured.Unstructured, c map[string]any) []any {
	c["lastTransitionTime"] = now()
	merged, _ := conditionlist.Set(conditionlist.Of(o), c, time.Now())
	return merged
}

// mirrorID copies the instance's ID to the objects that lack it.
func (w *world) mirrorID() {
	w.Helper()
	if !w.kind.InfraActs() {
		return
	}
	objects := []ref{w.mapi(), w.core(), w.provider()}
	id := ""
	for _, o := range objects {
		if live := w.of(o); id == "" && live != nil {
			id, _, _ = unstructured.NestedString(live.Object, "spec", "providerID")
		}
	}
	for _, o := range objects {
		if id != "" && w.of(o) != nil {
			w.merge(o, "", map[string]any{"spec": map[string]any{"providerID": id}})
		}
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// controllersAnswer are the controllers of both sides: they read their objects, hold their finalizers where they
// act (Cluster API's core ones always), and answer.
func (w *world) controllersAnswer() {
	w.Helper()
	if shape := w.shape(); shape.Current != "" && !w.blind {
		w.answer(w.mapi(), shape.Current == authority.MachineAPI, w.kind.MachineAPIFinalizer, shape.Current == authority.MachineAPI)
	}
	for _, o := range []ref{w.core(), w.provider()} {
		live := w.of(o)
		if live == nil || o == w.provider() && !w.kind.InfraActs() {
			continue
		}
		finalizer := w.kind.ClusterAPIFinalizer
		if o == w.provider() {
			finalizer = infraFinalizer(w.infra.GroupKind())
		}
		w.answer(o, !w.pausedSince(o), finalizer, !w.pausedSince(o) || o == w.core())
	}
	w.instanceAnswers()
}

func (w *world) answer(o ref, acts bool, finalizer string, holds bool) {
	w.Helper()
	live := w.of(o)
	if holds && finalizer != "" && !slices.Contains(live.GetFinalizers(), finalizer) {
		w.merge(o, "", map[string]any{"metadata": map[string]any{"finalizers": append(live.GetFinalizers(), finalizer)}})
	}
	paused, status := metav1.ConditionTrue, map[string]any{}
	if acts {
		paused = metav1.ConditionFalse
	}
	if w.kind.Name == "Machine" && o == w.mapi() && (acts || w.of(w.provider()) != nil && w.holds(w.provider(), infraFinalizer(w.infra.GroupKind()))) {
		status["phase"] = "Running" // by the controller that made its instance
	}
	if o == w.provider() || o == w.instance() {
		status["ready"] = true
	}
	if o == w.instance() {
		acts = false // nothing has its ID there
	}
	if acts && !w.silent && w.kind.InfraActs() && o != w.core() {
		w.merge(o, "", map[string]any{"spec": map[string]any{"providerID": "aws:///us-east-1a/i-1"}})
	}
	if o != w.provider() || authority.Acknowledges(o.Kind) != authority.ByPatience {
		status["conditions"] = with(live, condition(authority.ConditionPaused, paused, "", "Test", "because"))
	}
	w.merge(o, "status", map[string]any{"status": status})
}

func (w *world) everybody() {
	w.Helper()
	w.controllersAnswer()
	w.mirrorRuns()
}

type ref struct {
	schema.GroupVersionKind
	namespace string
}

func (w *world) mapi() ref     { return ref{w.kind.MachineAPIGVK(), w.pair.MachineAPI} }
func (w *world) core() ref     { return ref{w.kind.ClusterAPIGVK(), w.pair.ClusterAPI} }
func (w *world) provider() ref { return ref{w.infra, w.pair.ClusterAPI} }

func (w *world) of(o ref) *unstructured.Unstructured {
	w.Helper()
	if o.Kind == "" {
		return nil
	}
	u, _, err := get(w.Context(), w.Client, o.GroupVersionKind, o.namespace, name)
	if err != nil {
		w.Fatal(err)
	}
	return u
}

func (w *world) shape() authority.Shape {
	w.Helper()
	_, o, err := get(w.Context(), w.Client, w.kind.MachineAPIGVK(), w.pair.MachineAPI, name)
	if err != nil {
		w.Fatal(err)
	}
	return authority.Read(o)
}

func (w *world) pausedSince(o ref) bool {
	_, given := w.of(o).GetAnnotations()[authority.PausedAnnotation]
	return given
}

func (w *world) holds(o ref, finalizer string) bool {
	return slices.Contains(w.of(o).GetFinalizers(), finalizer)
}

func (w *world) merge(o ref, subresource string, body map[string]any) {
	w.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		w.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(o.GroupVersionKind)
	u.SetNamespace(o.namespace)
	u.SetName(name)
	patch := client.RawPatch(types.MergePatchType, raw)
	if subresource == "status" {
		err = w.Status().Patch(w.Context(), u, patch)
	} else {
		err = w.Patch(w.Context(), u, patch)
	}
	if err != nil {
		w.Fatalf("patching %s: %v", o.Kind, err)
	}
}

func (w *world) request(to authority.API) {
	w.Helper()
	w.merge(w.mapi(), "", map[string]any{"spec": map[string]any{"authoritativeAPI": string(to)}})
}

// pass is one pass of the handoff, judged by what it leaves behind. It returns how many writes it took.
func (w *world) pass() int64 {
	w.Helper()
	before := w.writes.Load()
	w.look()
	w.judge()
	return w.writes.Load() - before
}

func (w *world) look() {
	w.Helper()
	if _, err := w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.pair.MachineAPI, Name: name}}); err != nil {
		w.Fatalf("a pass: %v", err)
	}
}

// judge checks on the server what DESIGN §4 promises of every state.
func (w *world) judge() {
	w.Helper()
	s := w.shape()
	if w.of(w.core()) == nil || s.Current == "" {
		return
	}
	if w.blind && !w.pausedSince(w.core()) && !w.pausedSince(w.mapi()) {
		w.Errorf("neither API's check is paused while status is %s, from %s", s.Current, s.SynchronizedAPI)
	}
	unpaused := !w.pausedSince(w.core()) || w.kind.InfraActs() && !w.pausedSince(w.provider()) || w.of(w.instance()) != nil &&
		!w.pausedSince(w.instance()) && !w.madeNow
	if unpaused && s.Current != authority.ClusterAPI && (s.Current != authority.Migrating || s.SynchronizedAPI != authority.ClusterAPI) {
		w.Errorf("Cluster API is not paused while status is %s, from %s", s.Current, s.SynchronizedAPI)
	}
	if s.Current == authority.ClusterAPI && unpaused && !s.Recorded {
		w.Error("Cluster API acts, and nothing stored says that its object exists: deleted while nobody looks, it would be created again")
	}
	if w.kind.InfraActs() && s.Phase == "Running" && !w.holds(w.mapi(), authority.MachineAPIMachineFinalizer) &&
		!(w.holds(w.core(), w.kind.ClusterAPIFinalizer) && w.holds(w.provider(), infraFinalizer(w.infra.GroupKind()))) {
		w.Errorf("nobody holds the machine's finalizer while status is %s", s.Current)
	}
}

// waitSettled lets everybody go on in turn until the handoff says that it is settled.
func (w *world) waitSettled(on authority.API) {
	w.Helper()
	for range 40 {
		w.everybody()
		w.pass()
		if s := w.shape(); s.Condition(authority.ConditionSettled).Status == "True" && s.Current == on && s.Requested == on {
			return
		}
	}
	w.Fatalf("not settled on %s: %+v", on, w.shape())
}

// authoritative is what a settled pair looks like.
func (w *world) authoritative(a authority.API) {
	w.Helper()
	s := w.shape()
	if s.Current != a || s.SynchronizedAPI != a {
		w.Errorf("status %s, synchronizedAPI %s, want %s", s.Current, s.SynchronizedAPI, a)
	}
	if given := w.pausedSince(w.core()); given != (a == authority.MachineAPI) {
		w.Errorf("the Cluster API object paused: %t", given)
	}
	if has := w.pausedSince(w.mapi()); has != (w.blind && a == authority.ClusterAPI) {
		w.Errorf("the Machine API object paused: %t", has)
	}
	if !w.kind.InfraActs() {
		if a == authority.ClusterAPI && w.kind.Infra != "" && w.pausedSince(w.provider()) {
			w.Error("the template is still paused")
		}
		return
	}
	if held := w.holds(w.mapi(), authority.MachineAPIMachineFinalizer); held != (a == authority.MachineAPI) {
		w.Errorf("the Machine API's finalizer: %t", held)
	}
	if held := w.holds(w.provider(), infraFinalizer(w.infra.GroupKind())); held != (a == authority.ClusterAPI) {
		w.Errorf("the provider's finalizer: %t", held)
	}
	for _, e := range w.of(w.provider()).GetManagedFields() { // the entry's time is the time of the pause
		if e.Manager == fieldManager && managedfields.EntryHolds(e, managedfields.Path("metadata", "finalizers")) {
			w.Error("the entry that shows since when the provider's object is paused has finalizers, too")
		}
	}
}

func (w *world) reason() string {
	w.Helper()
	return w.shape().Condition(authority.ConditionSettled).Reason
}
