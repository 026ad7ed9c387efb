// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
)

// scene is a namespace with Machines over a simulated cloud. Its controller is run pass by pass, by the test; its clock goes when the test says so.
type scene struct {
	*testing.T
	client.Client
	namespace string
	cloud     *machinetest.Cloud
	c         *machines
	clock     *testingclock.FakePassiveClock
	writes    *atomic.Int64
	events    *events.FakeRecorder
}

func machineScheme(t testing.TB) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, machinev1beta1.Install} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, clock: testingclock.NewFakePassiveClock(time.Now()), writes: &atomic.Int64{}, events: events.NewFakeRecorder(10000)}
	var err error
	if s.Client, err = client.New(plane.Admin(), client.Options{Scheme: machineScheme(t)}); err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "machines-"}}
	if err := s.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	s.namespace = ns.Name
	if s.cloud, err = machinetest.New(machinetest.Options{Now: s.clock.Now}); err != nil {
		t.Fatal(err)
	}
	s.replace()
	return s
}

// replace is a restart: another process with nothing in its memory.
func (s *scene) replace() {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	m := s.manager(counting(plane.Admin(), s.writes))
	if err := machineIndexes(m); err != nil {
		s.Fatal(err)
	}
	o, err := Options{Actuator: s.actuator(), Gated: true, Clock: s.clock}.filled()
	if err != nil {
		s.Fatal(err)
	}
	if s.c, err = newMachines(m, o); err != nil {
		s.Fatal(err)
	}
	s.c.recorder = s.events
	for _, o := range []client.Object{&corev1.Node{}, &machinev1beta1.Machine{}} {
		if _, err := m.GetCache().GetInformer(ctx, o, cache.BlockUntilSynced(false)); err != nil {
			s.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	s.Cleanup(func() { stop(); <-done })
	if !m.GetCache().WaitForCacheSync(ctx) {
		s.Fatal("the cache does not come")
	}
}

func (s *scene) manager(config *rest.Config) manager.Manager {
	s.Helper()
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: machineScheme(s), Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
	})
	if err != nil {
		s.Fatal(err)
	}
	return m
}

func (s *scene) actuator() *machinetest.Actuator {
	return &machinetest.Actuator{Cloud: s.cloud.As(authority.MachineAPI), Poll: time.Minute, Now: s.clock.Now}
}

// counting counts the requests that change something, accepted or not, events left out.
func counting(c *rest.Config, writes *atomic.Int64) *rest.Config {
	c = rest.CopyConfig(c)
	c.QPS = -1
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
				writes.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	return c
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// spoilt is the actuator with one method in another's hands.
type spoilt struct {
	machine.Actuator
	exists, create, update, delete func(context.Context, *machinev1beta1.Machine) error
}

func (a spoilt) Exists(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
	if a.exists != nil {
		return false, a.exists(ctx, m)
	}
	return a.Actuator.Exists(ctx, m)
}

func (a spoilt) Create(ctx context.Context, m *machinev1beta1.Machine) error {
	if a.create != nil {
		return a.create(ctx, m)
	}
	return a.Actuator.Create(ctx, m)
}

func (a spoilt) Update(ctx context.Context, m *machinev1beta1.Machine) error {
	if a.update != nil {
		return a.update(ctx, m)
	}
	return a.Actuator.Update(ctx, m)
}

func (a spoilt) Delete(ctx context.Context, m *machinev1beta1.Machine) error {
	if a.delete != nil {
		return a.delete(ctx, m)
	}
	return a.Actuator.Delete(ctx, m)
}

// machine creates a Machine for which the Machine API is authoritative.
func (s *scene) machine(name string, edits ...func(*machinev1beta1.Machine)) {
	s.Helper()
	m := &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace},
		Spec: machinev1beta1.MachineSpec{
			AuthoritativeAPI: machinev1beta1.MachineAuthorityMachineAPI,
			ProviderSpec: machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(
				`{"kind":"AWSMachineProviderConfig","apiVersion":"machine.openshift.io/v1beta1","instanceType":"m6i.large","ami":{"id":"ami-1"},"placement":{"region":"us-east-1","availabilityZone":"us-east-1a"}}`)}},
		},
	}
	for _, edit := range edits {
		edit(m)
	}
	if err := s.Create(s.Context(), m); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: name}
}

// get reads the Machine, nil if it is gone.
func (s *scene) get(name string) *machinev1beta1.Machine {
	s.Helper()
	m := &machinev1beta1.Machine{}
	err := s.Get(s.Context(), s.key(name), m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return m
}

func (s *scene) edit(name string, change func(*machinev1beta1.Machine)) {
	s.Helper()
	before := s.get(name)
	after := before.DeepCopy()
	change(after)
	status := after.Status
	if _, err := versioned.PatchFrom(s.Context(), s.Client, before, after); err != nil {
		s.Fatal(err)
	}
	before = after.DeepCopy()
	after.Status = status
	if _, err := versioned.PatchStatusFrom(s.Context(), s.Client, before, after); err != nil {
		s.Fatal(err)
	}
}

// authority is what Poundlock's handoff does to a Machine, straight.
func (s *scene) authority(name string, of machinev1beta1.MachineAuthority) {
	s.Helper()
	s.edit(name, func(m *machinev1beta1.Machine) { m.Status.AuthoritativeAPI = of })
}

func (s *scene) deleting(name string) {
	s.Helper()
	if err := s.Delete(s.Context(), s.get(name)); err != nil {
		s.Fatal(err)
	}
}

// pass is one pass, whatever comes of it.
func (s *scene) pass(name string) (reconcile.Result, error) {
	s.Helper()
	return s.c.frame().Reconcile(s.Context(), reconcile.Request{NamespacedName: s.key(name)})
}

// until makes passes until it is so. The clock goes on by a minute and something with each.
func (s *scene) until(name, what string, is func(*machinev1beta1.Machine) bool) {
	s.Helper()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if is(s.get(name)) {
			return
		}
		if _, err = s.pass(name); err != nil {
			pause(s.Context())
		}
		s.clock.SetTime(s.clock.Now().Add(61 * time.Second))
		pause(s.Context())
	}
	s.Fatalf("Machine %s, %s: not in 20 s: %v\n%s", name, what, err, s.told(name))
}

// pause gives a cache the time that it needs.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
}

func (s *scene) phase(name, want string) {
	s.Helper()
	s.until(name, "phase "+want, func(m *machinev1beta1.Machine) bool {
		return m != nil && m.Status.Phase != nil && *m.Status.Phase == want
	})
}

func (s *scene) gone(name string) {
	s.Helper()
	s.until(name, "gone", func(m *machinev1beta1.Machine) bool { return m == nil })
}

func (s *scene) told(name string) string {
	m := s.get(name)
	if m == nil {
		return "gone"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "phase %v, providerID %v, finalizers %v\n", deref(m.Status.Phase), deref(m.Spec.ProviderID), m.Finalizers)
	for _, c := range m.Status.Conditions {
		fmt.Fprintf(&b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

func deref(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func (s *scene) condition(name string, kind machinev1beta1.ConditionType) machinev1beta1.Condition {
	s.Helper()
	c, _ := conditionOfType(s.get(name).Status.Conditions, kind)
	return c
}

func (s *scene) instances(want int) []machinetest.Instance {
	s.Helper()
	all, err := s.cloud.Instances(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if len(all) != want {
		s.Errorf("%d instances, want %d: %+v", len(all), want, all)
	}
	return all
}

func (s *scene) calls(verb machinetest.Verb) (n int) {
	s.Helper()
	ledger, err := s.cloud.Ledger(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, call := range ledger {
		if verb == "" || call.Verb == verb {
			n++
		}
	}
	return n
}

// node registers the instance's Node, as its kubelet does.
func (s *scene) node(i machinetest.Instance, edits ...func(*corev1.Node)) string {
	s.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}, Spec: corev1.NodeSpec{ProviderID: i.ProviderID()}}
	for _, edit := range edits {
		edit(n)
	}
	if err := s.Create(s.Context(), n); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = s.Delete(context.Background(), n) })
	return n.Name
}

func (s *scene) getNode(name string) *corev1.Node {
	s.Helper()
	n := &corev1.Node{}
	err := s.Get(s.Context(), client.ObjectKey{Name: name}, n)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// running brings a Machine to Running, and returns its Node.
func (s *scene) running(name string, edits ...func(*corev1.Node)) string {
	s.Helper()
	have := len(must(s.cloud.Instances(s.Context())))
	s.machine(name)
	s.phase(name, machinev1beta1.PhaseProvisioned)
	node := s.node(s.instances(have + 1)[have], edits...)
	s.phase(name, machinev1beta1.PhaseRunning)
	return node
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// pod runs on the Node and ends at once when it is deleted.
func (s *scene) pod(name, node string, labels map[string]string) {
	s.Helper()
	none := int64(0)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: &none, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			AutomountServiceAccountToken: new(bool), Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); pause(s.Context()) {
		if err = s.Create(s.Context(), p.DeepCopy()); err == nil {
			break // the namespace has its service account by now
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	ready := &corev1.Pod{ObjectMeta: p.ObjectMeta}
	patch := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
	if err := s.Status().Patch(s.Context(), ready, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.Fatal(err)
	}
}

// heard drains the events and reports whether one has the reason.
func (s *scene) heard(reason string) bool {
	var all []string
	for {
		select {
		case e := <-s.events.Events:
			all = append(all, e)
			continue
		default:
		}
		return slices.ContainsFunc(all, func(e string) bool { return strings.Contains(e, " "+reason+" ") })
	}
}
