// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/test/embedded"
)

var plane *embedded.Plane // set once, by TestMain

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	crds, err := embedded.CRDs(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	options := embedded.Options{CRDs: crds, ControllerManager: true,
		ControllerManagerArgs: []string{"--controllers=garbage-collector-controller,namespace-controller"}}
	os.Exit(embedded.Main(m, options, func(p *embedded.Plane) error {
		plane = p
		return nil
	}))
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, configv1.Install, machinev1.Install, machinev1beta1.Install} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// world is a control plane of its own: a namespace, Machines and their Nodes, with the test as everybody else: the Machine controller, kubelets,
// and etcd's operator.
type world struct {
	client.Client
	t           *testing.T
	pair        authority.Pair
	replicas    int
	mayRecreate bool
	// notReadyGrace is the operator's setting.
	notReadyGrace time.Duration
	// now is what Nodes join by.
	now time.Time
	// etcd's operator is away: nobody takes a hook off.
	etcdAway bool
	// broken: new Machines fail.
	broken bool
	// unready are Machines whose kubelet is silent.
	unready map[string]bool
	// most and least are how many Machines there were at once, and how many of them ready.
	most, least int
}

func newWorld(t *testing.T, replicas int) *world {
	t.Helper()
	c, err := client.NewWithWatch(plane.Admin(), client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("plane-%d", time.Now().UnixNano())
	w := &world{Client: c, t: t, replicas: replicas, pair: authority.Pair{MachineAPI: name, ClusterAPI: name + "-capi"}, now: time.Now(),
		unready: map[string]bool{}, least: replicas}
	w.must(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	w.describe()
	for i := range replicas {
		m := w.machine(fmt.Sprintf("c-master-%d", i), string(rune('a'+i%3)), "m6i.xlarge")
		w.must(c.Create(t.Context(), m))
	}
	w.live()
	w.live()
	t.Cleanup(w.leave)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// describe makes the Infrastructure, once.
func (w *world) describe() {
	i := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	if err := w.Create(w.t.Context(), i.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	w.must(w.Get(w.t.Context(), client.ObjectKeyFromObject(i), i))
	i.Status.InfrastructureName = "c"
	i.Status.PlatformStatus = &configv1.PlatformStatus{Type: configv1.AWSPlatformType, AWS: &configv1.AWSPlatformStatus{Region: "us-east-1"}}
	i.Status.ControlPlaneTopology, i.Status.InfrastructureTopology, i.Status.CPUPartitioning = "HighlyAvailable", "HighlyAvailable", "None"
	w.must(w.Status().Update(w.t.Context(), i))
}

// leave takes away what is not in the world's namespace, and lets go of what is.
func (w *world) leave() {
	ctx := context.Background()
	_ = w.DeleteAllOf(ctx, &corev1.Node{})
	o := object(operatorKind)
	o.SetName(controlplane.OperatorName)
	_ = w.Delete(ctx, o)
}

func providerSpec(zone, size string) machinev1beta1.ProviderSpec {
	s := map[string]any{"kind": "AWSMachineProviderConfig", "apiVersion": "machine.openshift.io/v1beta1", "instanceType": size}
	if zone != "" {
		s["placement"] = map[string]any{"availabilityZone": zone}
	}
	raw, _ := json.Marshal(s)
	return machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: raw}}
}

func masters() map[string]string {
	return map[string]string{
		"machine.openshift.io/cluster-api-cluster": "c", "machine.openshift.io/cluster-api-machine-role": "master", "machine.openshift.io/cluster-api-machine-type": "master",
	}
}

func (w *world) machine(name, zone, size string) *machinev1beta1.Machine {
	return &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.pair.MachineAPI, Name: name, Labels: masters()},
		Spec:       machinev1beta1.MachineSpec{ProviderSpec: providerSpec(zone, size)},
	}
}

const setYAML = `
apiVersion: machine.openshift.io/v1
kind: ControlPlaneMachineSet
metadata: {name: cluster}
spec:
  state: Active
  strategy: {type: RollingUpdate}
  selector: {matchLabels: {machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master}}
  template:
    machineType: machines_v1beta1_machine_openshift_io
    machines_v1beta1_machine_openshift_io:
      failureDomains: {platform: AWS, aws: [{placement: {availabilityZone: a}}, {placement: {availabilityZone: b}}, {placement: {availabilityZone: c}}]}
      metadata:
        labels: {machine.openshift.io/cluster-api-cluster: c, machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master}
      spec: {providerSpec: {value: {kind: AWSMachineProviderConfig, apiVersion: machine.openshift.io/v1beta1, instanceType: m6i.xlarge}}}
`

type change = func(*machinev1.ControlPlaneMachineSet)

func larger(set *machinev1.ControlPlaneMachineSet) { sized("m6i.2xlarge")(set) }

func sized(size string) change {
	return func(set *machinev1.ControlPlaneMachineSet) {
		set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec = providerSpec("", size)
	}
}

func strategy(s machinev1.ControlPlaneMachineSetStrategyType) change {
	return func(set *machinev1.ControlPlaneMachineSet) { set.Spec.Strategy.Type = s }
}

func inactive(set *machinev1.ControlPlaneMachineSet) {
	set.Spec.State = machinev1.ControlPlaneMachineSetStateInactive
}

// found makes the set.
func (w *world) found(changes ...change) {
	w.t.Helper()
	set := &machinev1.ControlPlaneMachineSet{}
	w.must(yaml.Unmarshal([]byte(setYAML), set))
	replicas := int32(w.replicas)
	set.Namespace, set.Spec.Replicas = w.pair.MachineAPI, &replicas
	for _, do := range changes {
		do(set)
	}
	w.must(w.Create(w.t.Context(), set))
}

func (w *world) set() *machinev1.ControlPlaneMachineSet {
	w.t.Helper()
	set := &machinev1.ControlPlaneMachineSet{}
	w.must(w.Get(w.t.Context(), client.ObjectKey{Namespace: w.pair.MachineAPI, Name: "cluster"}, set))
	return set
}

func (w *world) edit(changes ...change) {
	w.t.Helper()
	set := w.set()
	for _, do := range changes {
		do(set)
	}
	w.must(w.Update(w.t.Context(), set))
}

func (w *world) machines() []machinev1beta1.Machine {
	w.t.Helper()
	all := &machinev1beta1.MachineList{}
	w.must(w.List(w.t.Context(), all, client.InNamespace(w.pair.MachineAPI)))
	return all.Items
}

func (w *world) names() []string {
	var out []string
	for _, m := range w.machines() {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return out
}

func contentOf(m *machinev1beta1.Machine) map[string]any {
	var s map[string]any
	_ = json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &s)
	return s
}

func size(m machinev1beta1.Machine) string {
	var s struct {
		InstanceType string `json:"instanceType"`
	}
	_ = json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &s)
	return s.InstanceType
}

// live lets every Machine take one step, and reports whether any did.
func (w *world) live() bool {
	w.t.Helper()
	all := w.machines()
	w.most = max(w.most, len(all))
	ready, moved := 0, false
	for i := range all {
		if w.isReady(&all[i]) {
			ready++
		}
	}
	if len(all) > 0 && all[0].Status.NodeRef != nil {
		w.least = min(w.least, ready)
	}
	members := w.members(all)
	for i := range all {
		moved = w.step(&all[i], &members) || moved
	}
	return moved
}

// members counts the Machines with a healthy member of etcd that is not being removed.
func (w *world) members(all []machinev1beta1.Machine) int {
	n := 0
	for _, m := range all {
		if m.Status.NodeRef != nil && !w.unready[m.Name] && (m.DeletionTimestamp == nil || len(m.Spec.LifecycleHooks.PreDrain) > 0) {
			n++
		}
	}
	return n
}

const (
	machineFinalizer = "machine.machine.openshift.io"
	etcdHook         = "EtcdQuorumOperator"
)

func (w *world) isReady(m *machinev1beta1.Machine) bool {
	return m.DeletionTimestamp == nil && m.Status.NodeRef != nil && m.Status.Phase != nil && *m.Status.Phase == "Running" && !w.unready[m.Name]
}

func (w *world) step(m *machinev1beta1.Machine, members *int) bool {
	w.t.Helper()
	ctx := w.t.Context()
	before := client.MergeFrom(m.DeepCopy())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.pair.MachineAPI + "-" + m.Name, Labels: map[string]string{controlplane.Roles()[0]: ""}}}
	switch hooks := &m.Spec.LifecycleHooks.PreDrain; {
	case m.DeletionTimestamp != nil && len(*hooks) > 0:
		healthy := m.Status.NodeRef != nil && !w.unready[m.Name]
		if w.etcdAway || m.Status.NodeRef != nil && (*members < w.replicas || healthy && *members == w.replicas) {
			return false
		}
		if *hooks = nil; healthy {
			*members--
		}
		w.must(w.Patch(ctx, m, before))
	case m.DeletionTimestamp != nil:
		w.must(client.IgnoreNotFound(w.Delete(ctx, node)))
		m.Finalizers = nil
		w.must(client.IgnoreNotFound(w.Patch(ctx, m, before)))
	case len(m.Finalizers) == 0:
		m.Finalizers, *hooks = []string{machineFinalizer}, []machinev1beta1.LifecycleHook{{Name: etcdHook, Owner: "clusteroperator/etcd"}}
		w.must(w.Patch(ctx, m, before))
	case m.Status.Phase != nil:
		return false
	case w.broken:
		w.must(w.phase(m, "Failed", nil))
	default:
		w.must(client.IgnoreAlreadyExists(w.Create(ctx, node)))
		w.ready(node.Name, true)
		w.must(w.phase(m, "Running", &corev1.ObjectReference{Kind: "Node", Name: node.Name}))
	}
	return true
}

func (w *world) phase(m *machinev1beta1.Machine, phase string, node *corev1.ObjectReference) error {
	before := client.MergeFrom(m.DeepCopy())
	m.Status.Phase, m.Status.NodeRef = &phase, node
	return w.Status().Patch(w.t.Context(), m, before)
}

// ready has a kubelet say so.
func (w *world) ready(node string, is bool) {
	w.t.Helper()
	n := &corev1.Node{}
	w.must(w.Get(w.t.Context(), client.ObjectKey{Name: node}, n))
	status := corev1.ConditionTrue
	if !is {
		status = corev1.ConditionFalse
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	w.must(w.Status().Update(w.t.Context(), n))
}

// silence ends a Machine's kubelet's reports.
func (w *world) silence(machine string) {
	w.unready[machine] = true
	w.ready(w.pair.MachineAPI+"-"+machine, false)
}

func (w *world) delete(machine string) {
	w.t.Helper()
	w.must(w.Delete(w.t.Context(), &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.pair.MachineAPI, Name: machine}}))
}

// operator is one that reads what is there: its cache never lags. Its writes go through a script, which may be nil.
func (w *world) operator(script *script) *reconciler {
	w.t.Helper()
	direct, err := client.NewWithWatch(plane.Admin(), client.Options{Scheme: testScheme(w.t)})
	w.must(err)
	c := direct
	if script != nil {
		c = script.over(direct)
	}
	counted, err := newMeters()
	w.must(err)
	r := Options{
		Pairs: authority.Pairs{w.pair}, MayRecreate: w.mayRecreate, NotReadyGrace: w.notReadyGrace, Version: "4.22.0", Now: func() time.Time { return w.now },
	}.reconciler()
	r.cache, r.live, r.writer, r.meters = direct, newForward(direct, time.Now), c, counted
	r.recorder = &events.FakeRecorder{Events: make(chan string, 10000)}
	return r
}

// script counts an operator's writes, and ends it at one of them: as it is sent, or when it has been carried out.
type script struct {
	writes int
	// at is the write that is its last, 0 for none; sent: it is carried out.
	at   int
	sent bool
	dead bool
	log  []string
	// tries are dry runs. undry is what they are answered with, refusal what a Machine's creation is; nil: what the API server says.
	tries          atomic.Int32 // several at a time
	undry, refusal error
}

// count is how many writes begin so.
func (s *script) count(prefix string) (n int) {
	for _, l := range s.log {
		if strings.HasPrefix(l, prefix) {
			n++
		}
	}
	return n
}

var errDead = errors.New("the operator has ended")

func (s *script) write(what string, do func() error) error {
	if s.dead {
		return errDead
	}
	s.writes++
	s.log = append(s.log, what)
	if s.writes != s.at {
		return do()
	}
	s.dead = true
	if s.sent {
		_ = do()
	}
	return errDead
}

func (s *script) over(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, made client.Object, opts ...client.CreateOption) error {
			if len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0 {
				if s.tries.Add(1); s.undry != nil {
					return s.undry
				}
				return c.Create(ctx, made, opts...)
			}
			return s.write("create "+made.GetName(), func() error {
				if s.refusal != nil && made.GetObjectKind().GroupVersionKind().Kind == "Machine" {
					return s.refusal
				}
				return c.Create(ctx, made, opts...)
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return s.write("delete "+o.GetName(), func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return s.write("patch "+o.GetName(), func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return s.write("patch "+sub+" of "+o.GetName(), func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}

// pass is one of the operator's. What is in its way is there for the next one; the end of the process ends it.
func pass(t *testing.T, r *reconciler) (reconcile.Result, error) {
	t.Helper()
	result, err := r.Reconcile(t.Context(), r.request())
	if err != nil && !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	return result, err
}

// waitForRest lets operators and the world take turns until nothing moves any more, or an operator has ended.
func (w *world) waitForRest(operators ...*reconciler) (ended bool) {
	w.t.Helper()
	for range 300 {
		before := w.versions()
		for _, r := range operators {
			if _, err := pass(w.t, r); err != nil {
				return true
			}
		}
		if !w.live() && w.versions() == before {
			return false
		}
	}
	w.t.Fatalf("it does not come to rest: %v, %s", w.names(), w.condition("Progressing"))
	return false
}

// versions shows whether anything was written.
func (w *world) versions() string {
	w.t.Helper()
	var out []string
	for _, m := range w.machines() {
		out = append(out, m.Name+m.ResourceVersion)
	}
	for _, kind := range []client.Object{&machinev1.ControlPlaneMachineSet{}, &configv1.ClusterOperator{}} {
		key := client.ObjectKey{Namespace: w.pair.MachineAPI, Name: "cluster"}
		if _, is := kind.(*configv1.ClusterOperator); is {
			key = client.ObjectKey{Name: controlplane.OperatorName}
		}
		w.must(client.IgnoreNotFound(w.Get(w.t.Context(), key, kind)))
		out = append(out, kind.GetResourceVersion())
	}
	return strings.Join(out, " ")
}

// condition is a condition of the set: "True RollingOut: …".
func (w *world) condition(kind string) string {
	w.t.Helper()
	for _, c := range w.set().Status.Conditions {
		if c.Type == kind {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

func (w *world) operatorCondition(kind configv1.ClusterStatusConditionType) string {
	w.t.Helper()
	o := &configv1.ClusterOperator{}
	w.must(client.IgnoreNotFound(w.Get(w.t.Context(), client.ObjectKey{Name: controlplane.OperatorName}, o)))
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

func (w *world) wantCondition(kind, prefix string, parts ...string) {
	w.t.Helper()
	got := w.condition(kind)
	if !strings.HasPrefix(got, prefix) {
		w.t.Errorf("%s says %q, want %q", kind, got, prefix)
	}
	for _, p := range parts {
		if !strings.Contains(got, p) {
			w.t.Errorf("%s says %q, which does not tell %q", kind, got, p)
		}
	}
}

// wantDone: all Machines are of a size, adopted, and as many as there are to be; there never was one too many, nor one too few that were ready.
func (w *world) wantDone(of string, least int) {
	w.t.Helper()
	all := w.machines()
	if len(all) != w.replicas {
		w.t.Errorf("%d Machines: %v", len(all), w.names())
	}
	uid := w.set().UID
	for _, m := range all {
		if size(m) != of {
			w.t.Errorf("%s is a %s, want a %s", m.Name, size(m), of)
		}
		if c := metav1.GetControllerOf(&m); c == nil || c.UID != uid || c.BlockOwnerDeletion == nil || !*c.BlockOwnerDeletion {
			w.t.Errorf("%s has the controller %v", m.Name, c)
		}
	}
	if w.most > w.replicas+1 {
		w.t.Errorf("there were %d Machines at once", w.most)
	}
	if w.least < least {
		w.t.Errorf("there were only %d ready at once, want %d", w.least, least)
	}
	if n := w.set().Status; int(n.Replicas) != w.replicas || int(n.UpdatedReplicas) != w.replicas || int(n.ReadyReplicas) != w.replicas ||
		n.UnavailableReplicas != 0 || n.ObservedGeneration != w.set().Generation {
		w.t.Errorf("status is %+v", n)
	}
	w.wantCondition("Available", "True AsExpected")
	w.wantCondition("Progressing", "False AsExpected")
	w.wantCondition("Degraded", "False AsExpected")
	if got := w.operatorCondition("Upgradeable"); !strings.HasPrefix(got, "True AsExpected") {
		w.t.Errorf("Upgradeable says %q", got)
	}
}
