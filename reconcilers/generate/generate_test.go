// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/conversion/aws/awstest"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
	"github.com/poundlock/poundlock/reconcilers/generate"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/webhooks"
)

const (
	mapi, capi = "openshift-machine-api", "openshift-cluster-api"
	below      = "spec.template.machines_v1beta1_machine_openshift_io."
	value      = below + "spec.providerSpec.value."
	operator   = "controlplanemachineset.machine.openshift.io"
)

// pairs has a test's manager and its webhooks agree.
func pairs() authority.Pairs { return authority.Pairs{{MachineAPI: mapi, ClusterAPI: capi}} }

// TestGenerator is one story on an API server, with Poundlock's webhooks before it and the test as everybody else.
func TestGenerator(t *testing.T) {
	embedded.LeaveOut(t)
	crds, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{plane: embedded.ForTest(t, embedded.Options{CRDs: crds})}
	if w.Client, err = client.New(w.plane.Admin(), client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{mapi, capi} {
		w.create(t, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}})
	}
	w.infrastructure(t)
	w.admission(t)
	w.run(t)
	for _, story := range []struct {
		contains string
		tell     func(*testing.T)
	}{
		{"a cluster without control plane Machines is told why it gets no set", w.refuses},
		{"nor one in which none of them runs", w.refusesWhatDoesNotRun},
		{"a set of three is made, inactive, and activating it would do nothing", w.makes},
		{"an idle generator writes nothing", w.rests},
		{"the set follows a newer Machine", w.follows},
		{"and keeps what somebody has edited", w.keeps},
		{"a set that is there says why it cannot follow", w.wantEvent},
		{"what somebody has edited is not thrown away for replicas", w.stays},
		{"deleted, it is generated again once it is gone, for five", w.comesBack},
		{"where it is all the generator's, replicas that are wrong are put right", w.remakes},
		{"an active set is not touched", w.stops},
		{"nor one that a person made", w.respects},
	} {
		if !t.Run(story.contains, story.tell) {
			return // each goes on from where the one before ended
		}
	}
}

type world struct {
	client.Client
	plane *embedded.Plane

	mu     sync.Mutex
	writes []string
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// counting has every write of a client noted that the API server takes: one that meets an edit which the cache has not seen yet is refused, and tried again.
func (w *world) counting(to *rest.Config) *rest.Config {
	to.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil && r.Method != http.MethodGet && answer.StatusCode < http.StatusMultipleChoices {
				w.mu.Lock()
				w.writes = append(w.writes, r.Method+" "+r.URL.Path)
				w.mu.Unlock()
			}
			return answer, err
		})
	})
	return to
}

func (w *world) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.writes)
}

func (w *world) manager(t *testing.T, c *rest.Config) ctrl.Manager {
	t.Helper()
	c.WarningHandler = rest.NoWarnings{}
	mgr, err := ctrl.NewManager(c, ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

func start(t *testing.T, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (w *world) run(t *testing.T) {
	t.Helper()
	mgr := w.manager(t, w.counting(w.plane.Admin()))
	if err := generate.SetupWithManager(mgr, generate.Options{Pairs: pairs()}); err != nil {
		t.Fatal(err)
	}
	start(t, mgr)
}

// admission puts Poundlock's webhooks before the API server; the generator's writes go through them like everybody's.
func (w *world) admission(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := w.plane.Serving(dir); err != nil {
		t.Fatal(err)
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	mgr := w.manager(t, w.plane.Admin())
	port := free(t)
	s, err := webhooks.New(t.Context(), mgr, webhooks.Options{
		Pairs: pairs(), Catalog: webhooks.All(platforms.List()...), Identities: policies.Identities{policies.Poundlock: {"nobody"}},
		Host: "127.0.0.1", Port: port, Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddTo(mgr); err != nil {
		t.Fatal(err)
	}
	start(t, mgr)
	w.eventually(t, "the webhooks are ready", func() string {
		if err := s.Ready(httptest.NewRequest(http.MethodGet, "/readyz", nil)); err != nil {
			return err.Error()
		}
		return ""
	})
	validating, _ := webhooks.Configurations(webhooks.ConfigOptions{
		Platforms: platforms.List(), Pairs: pairs(), Own: []string{"nobody"}, URL: fmt.Sprintf("https://127.0.0.1:%d", port), CABundle: w.plane.Admin().CAData,
	})
	if err := w.Create(t.Context(), validating); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the API server asks the webhooks", func() string {
		o := named(machinev1.GroupVersion.WithKind("ControlPlaneMachineSet"), "other")
		o.Object["spec"] = map[string]any{
			"replicas": int64(3), "selector": map[string]any{}, "template": map[string]any{
				"machineType": "machines_v1beta1_machine_openshift_io", "machines_v1beta1_machine_openshift_io": map[string]any{
					"metadata": map[string]any{"labels": labels("master")}, "spec": map[string]any{},
				},
			},
		}
		if err := w.Create(t.Context(), o, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "[controlplane/name]") {
			return fmt.Sprint(err)
		}
		return ""
	})
}

// free is a port that nobody listens on.
func free(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func (w *world) eventually(t *testing.T, what string, amiss func() string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		is := amiss()
		if is == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never %s: %s", what, is)
		}
		<-time.After(50 * time.Millisecond)
	}
}

func named(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace(mapi)
	o.SetName(name)
	return o
}

func (w *world) create(t *testing.T, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: content}
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *world) status(t *testing.T, o *unstructured.Unstructured, status any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"status": status})
	if err == nil {
		err = w.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, body))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) infrastructure(t *testing.T) {
	t.Helper()
	in := awstest.Kit().Infrastructure
	o := &unstructured.Unstructured{Object: map[string]any{"spec": in["spec"]}}
	o.SetGroupVersionKind(configv1.GroupVersion.WithKind("Infrastructure"))
	o.SetName("cluster")
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.status(t, o, in["status"])
}

func labels(role string) map[string]any {
	return map[string]any{
		"machine.openshift.io/cluster-api-cluster": "lock-7x2k9", "machine.openshift.io/cluster-api-machine-role": role, "machine.openshift.io/cluster-api-machine-type": role,
	}
}

// provider is a providerSpec in a zone.
func provider(zone, instanceType string) map[string]any {
	return map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig", "metadata": map[string]any{"creationTimestamp": nil},
		"ami": map[string]any{"id": "ami-1"}, "instanceType": instanceType, "userDataSecret": map[string]any{"name": "master-user-data"},
		"loadBalancers": []any{map[string]any{"name": "int", "type": "network"}},
		"placement":     map[string]any{"region": "us-east-1", "availabilityZone": "us-east-1" + zone}, "subnet": map[string]any{"id": "subnet-" + zone},
	}
}

func machine(name string) *unstructured.Unstructured {
	return named(machinev1beta1.GroupVersion.WithKind("Machine"), name)
}

// master makes a Machine of the control plane. Ages have a resolution of a second: the one that is to be the newest has the last name, or is waited for.
func (w *world) master(t *testing.T, name, zone, instanceType, phase string) {
	t.Helper()
	o := machine(name)
	o.Object["spec"] = map[string]any{
		"providerSpec":   map[string]any{"value": provider(zone, instanceType)},
		"lifecycleHooks": map[string]any{"preDrain": []any{map[string]any{"name": "EtcdQuorumOperator", "owner": "clusteroperator/etcd"}}},
	}
	o.SetLabels(map[string]string{})
	if err := unstructured.SetNestedMap(o.Object, labels("master"), "metadata", "labels"); err != nil {
		t.Fatal(err)
	}
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.phase(t, name, phase)
}

func (w *world) phase(t *testing.T, name, phase string) {
	t.Helper()
	w.status(t, machine(name), map[string]any{"phase": phase})
}

func theSet() *unstructured.Unstructured {
	return named(machinev1.GroupVersion.WithKind("ControlPlaneMachineSet"), "cluster")
}

// get is the set, nil where there is none.
func (w *world) get(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	o := theSet()
	err := w.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func at(o *unstructured.Unstructured, path string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, strings.Split(path, ".")...)
	return v
}

func (w *world) edit(t *testing.T, o *unstructured.Unstructured, path string, v any) {
	t.Helper()
	way := strings.Split(path, ".")
	for _, name := range slices.Backward(way) {
		v = map[string]any{name: v}
	}
	body, err := json.Marshal(v)
	if err == nil {
		err = w.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, body))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// condition waits until the set's condition has a reason, for the set as it is written now, and returns its message.
func (w *world) condition(t *testing.T, reason string) string {
	t.Helper()
	message := ""
	w.eventually(t, "says "+reason, func() string {
		o := w.get(t)
		if o == nil {
			return "there is no set"
		}
		all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range all {
			if m, _ := c.(map[string]any); m["type"] == generator.ConditionGenerated && m["reason"] == reason && m["observedGeneration"] == o.GetGeneration() {
				message, _ = m["message"].(string)
				return ""
			}
		}
		return fmt.Sprint(all)
	})
	return message
}

// becomes waits for a value in the set.
func (w *world) becomes(t *testing.T, path string, want any) {
	t.Helper()
	w.eventually(t, fmt.Sprintf("%s %v", path, want), func() string {
		o := w.get(t)
		if o == nil {
			return "there is no set"
		}
		if got := at(o, path); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Sprint(got)
		}
		return ""
	})
}

// event waits for one about the set.
func (w *world) event(t *testing.T, reason, words string) {
	t.Helper()
	w.eventually(t, "an event "+reason, func() string {
		var all eventsv1.EventList
		if err := w.List(t.Context(), &all, client.InNamespace(mapi)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range all.Items {
			if e.Regarding.Kind == "ControlPlaneMachineSet" && e.Reason == reason && strings.Contains(e.Note, words) {
				return ""
			}
			got = append(got, e.Reason+": "+e.Note)
		}
		return "none, but " + strings.Join(got, "\n")
	})
}

// refusal is what the metric says of a reason.
func refusal(t *testing.T, reason string) float64 {
	t.Helper()
	all, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() != "poundlock_control_plane_not_generated" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == reason {
				return m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

func (w *world) refuses(t *testing.T) {
	w.event(t, "NoControlPlaneMachines", "machine.openshift.io/cluster-api-machine-role=master")
	if o, n := w.get(t), refusal(t, "NoControlPlaneMachines"); o != nil || n != 1 {
		t.Errorf("a set is there (%v), or the metric does not tell why not (%v)", o, n)
	}
}

func (w *world) refusesWhatDoesNotRun(t *testing.T) {
	for i, zone := range []string{"a", "b", "c"} {
		w.master(t, fmt.Sprintf("lock-7x2k9-master-%d", i), zone, "m6i.xlarge", "Provisioning")
	}
	w.event(t, "NoRunningMachine", "lock-7x2k9-master-0 (") // its repetitions are counted, with the first one's words
}

func (w *world) makes(t *testing.T) {
	worker := named(machinev1beta1.GroupVersion.WithKind("MachineSet"), "lock-7x2k9-worker-d")
	worker.Object["spec"] = map[string]any{"selector": map[string]any{},
		"template": map[string]any{"spec": map[string]any{"providerSpec": map[string]any{"value": provider("d", "m6i.large")}}}}
	if err := w.Create(t.Context(), worker); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		w.phase(t, fmt.Sprintf("lock-7x2k9-master-%d", i), "Running")
	}
	if text := w.condition(t, "AsFound"); strings.Contains(text, "edited") {
		t.Errorf("what the API server stores is taken for an edit: %s", text)
	}
	w.event(t, "Generated", "Inactive")
	o := w.get(t)
	zones := func() (out []any) {
		for _, z := range []string{"a", "b", "c", "d"} {
			out = append(out, map[string]any{"placement": map[string]any{"availabilityZone": "us-east-1" + z},
				"subnet": map[string]any{"type": "ID", "id": "subnet-" + z}})
		}
		return out
	}
	for path, want := range map[string]any{
		"spec.state": "Inactive", "spec.replicas": int64(3), "spec.strategy.type": "RollingUpdate", value + "instanceType": "m6i.xlarge",
		below + "failureDomains.aws": zones(), value + "placement": map[string]any{"region": "us-east-1"}, value + "subnet": nil,
	} {
		if got := at(o, path); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	warned := &warnings{}
	c := w.plane.Admin()
	c.WarningHandler = warned
	person, err := client.New(c, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := person.Patch(t.Context(), theSet(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"state":"Active"}}`)), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	// The test has no Nodes: that is the only problem that activating it has.
	if all := warned.all(); strings.Contains(all, "replace") || strings.Contains(all, "change in place") || strings.Contains(all, "leave as it is") {
		t.Errorf("activating it is warned of with %s", all)
	}
}

// warnings keeps what the API server warns of.
type warnings struct{ text bytes.Buffer }

func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.text.WriteString(text + "\n") }
func (w *warnings) all() string                               { return w.text.String() }

// rests pokes at all that the generator watches.
func (w *world) rests(t *testing.T) {
	before := w.written()
	w.edit(t, machine("lock-7x2k9-master-1"), "metadata.annotations.poke", "1")
	w.edit(t, theSet(), "metadata.annotations.poke", "1")
	in := named(configv1.GroupVersion.WithKind("Infrastructure"), "cluster")
	in.SetNamespace("")
	w.edit(t, in, "metadata.annotations.poke", "1")
	w.quiet(t, before)
}

// quiet waits until the generator has processed all changes, and compares its writes with those before. It causes two passes, one after the other: the first
// may have begun before the last change, and the second did not.
func (w *world) quiet(t *testing.T, before []string) {
	t.Helper()
	for i := range 2 {
		seen := passes(t)
		w.edit(t, machine("lock-7x2k9-master-2"), "metadata.annotations.poke", fmt.Sprint(seen, i))
		w.eventually(t, "looked once more", func() string {
			if passes(t) <= seen {
				return "not yet"
			}
			return ""
		})
	}
	if now := w.written(); len(now) != len(before) {
		t.Errorf("wrote %v", now[len(before):])
	}
}

// passes is how often the generator has looked.
func passes(t *testing.T) float64 {
	t.Helper()
	all, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0.0
	for _, f := range all {
		if f.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetValue() == "controlplane-generator" {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

// newer makes the newest Machine of the control plane: at an index of its own, or in the place of another.
func (w *world) newer(t *testing.T, name, zone, instanceType string) {
	t.Helper()
	w.eventually(t, "a second later than the others", func() string {
		var all unstructured.UnstructuredList
		all.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind("MachineList"))
		if err := w.List(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		for _, m := range all.Items {
			if made := m.GetCreationTimestamp(); !time.Now().After(made.Add(time.Second)) {
				return m.GetName()
			}
		}
		return ""
	})
	w.master(t, name, zone, instanceType, "Running")
}

func (w *world) follows(t *testing.T) {
	w.newer(t, "lock-7x2k9-master-x-0", "a", "m6i.2xlarge")
	w.becomes(t, value+"instanceType", "m6i.2xlarge")
	w.event(t, "Followed", "lock-7x2k9-master-x-0")
	if text := w.condition(t, "AsFound"); !strings.Contains(text, "lock-7x2k9-master-x-0") || strings.Contains(text, "edited") {
		t.Error(text)
	}
	w.delete(t, machine("lock-7x2k9-master-0"))
}

func (w *world) delete(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if err := w.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
}

func (w *world) keeps(t *testing.T) {
	w.edit(t, theSet(), value+"instanceType", "m7i.4xlarge")
	domains, _, _ := unstructured.NestedSlice(w.get(t).Object, strings.Split(below+"failureDomains.aws", ".")...)
	domains[3].(map[string]any)["subnet"].(map[string]any)["id"] = "mine"
	w.edit(t, theSet(), below+"failureDomains.aws", domains)
	if text := w.condition(t, "AsFound"); !strings.Contains(text, "Somebody edited these fields, and Poundlock keeps the edits: ") ||
		!strings.Contains(text, "instanceType m6i.2xlarge → m7i.4xlarge") || !strings.Contains(text, "failureDomains.aws[us-east-1d]") {
		t.Error(text)
	}
	w.newer(t, "lock-7x2k9-master-x-1", "b", "m6i.8xlarge")
	w.edit(t, machine("lock-7x2k9-master-x-1"), "spec.providerSpec.value.ami.id", "ami-2")
	w.becomes(t, value+"ami.id", "ami-2")
	w.becomes(t, value+"instanceType", "m7i.4xlarge")
	w.becomes(t, below+"failureDomains.aws", domains)
	w.delete(t, machine("lock-7x2k9-master-1"))
	w.eventually(t, "in rest", func() string { return w.unless("lock-7x2k9-master-x-1", w.condition(t, "AsFound")) })
}

func (w *world) unless(word, text string) string {
	if strings.Contains(text, word) {
		return ""
	}
	return text
}

func (w *world) wantEvent(t *testing.T) {
	all := []string{"lock-7x2k9-master-x-0", "lock-7x2k9-master-x-1", "lock-7x2k9-master-2"}
	for _, name := range all {
		w.phase(t, name, "Failed")
	}
	if text := w.condition(t, "NoRunningMachine"); !strings.Contains(text, "lock-7x2k9-master-2 (Failed)") {
		t.Error(text)
	}
	w.eventually(t, "counted", func() string {
		if refusal(t, "NoRunningMachine") != 1 || refusal(t, "NoControlPlaneMachines") != 0 {
			return "not yet"
		}
		return ""
	})
	for _, name := range all {
		w.phase(t, name, "Running")
	}
	w.condition(t, "AsFound")
}

func (w *world) stays(t *testing.T) {
	w.newer(t, "lock-7x2k9-master-3", "a", "m6i.xlarge")
	w.newer(t, "lock-7x2k9-master-4", "b", "m6i.xlarge")
	if text := w.condition(t, string(generator.CannotFollow)); !strings.Contains(text, "spec.replicas would be 5 instead of 3, but this field cannot be "+
		"changed") {
		t.Error(text)
	}
	w.becomes(t, value+"instanceType", "m7i.4xlarge")
}

func (w *world) comesBack(t *testing.T) {
	before := w.get(t).GetUID()
	w.edit(t, theSet(), "metadata.finalizers", []string{operator})
	w.delete(t, theSet())
	w.eventually(t, "gone, but for the operator's finalizer", func() string {
		if w.get(t).GetDeletionTimestamp() == nil {
			return "not yet"
		}
		return ""
	})
	was := w.written()
	w.quiet(t, was)
	w.edit(t, theSet(), "metadata.finalizers", nil)
	w.condition(t, "AsFound")
	o := w.get(t)
	if o.GetUID() == before || at(o, "spec.replicas") != int64(5) || at(o, "spec.state") != "Inactive" || at(o, value+"instanceType") != "m6i.xlarge" {
		t.Errorf("%v", o.Object)
	}
}

func (w *world) remakes(t *testing.T) {
	before := w.get(t).GetUID()
	w.delete(t, machine("lock-7x2k9-master-3"))
	w.delete(t, machine("lock-7x2k9-master-4"))
	w.eventually(t, "another, of three", func() string {
		o := w.get(t)
		if o == nil || o.GetUID() == before || at(o, "spec.replicas") != int64(3) {
			return "not yet"
		}
		return ""
	})
	w.event(t, "Regenerating", "spec.replicas cannot be changed and should be 3")
	w.condition(t, "AsFound")
}

func (w *world) stops(t *testing.T) {
	w.edit(t, theSet(), "spec.state", "Active")
	was := w.get(t)
	before := w.written()
	w.newer(t, "lock-7x2k9-master-x-2", "c", "m6i.24xlarge")
	w.quiet(t, before)
	if o := w.get(t); o.GetResourceVersion() != was.GetResourceVersion() {
		t.Errorf("it was %v, and is %v", was.Object, o.Object)
	}
}

func (w *world) respects(t *testing.T) {
	mine := w.get(t)
	w.delete(t, theSet())
	w.condition(t, "AsFound")
	w.edit(t, theSet(), "metadata.annotations", nil)
	was := w.get(t)
	before := w.written()
	w.edit(t, machine("lock-7x2k9-master-x-2"), "spec.providerSpec.value.instanceType", "m6i.32xlarge")
	w.quiet(t, before)
	if o := w.get(t); o.GetResourceVersion() != was.GetResourceVersion() || o.GetUID() == mine.GetUID() {
		t.Errorf("it was %v, and is %v", was.Object, o.Object)
	}
}
