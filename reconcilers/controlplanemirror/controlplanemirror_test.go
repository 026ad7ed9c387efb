// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanemirror_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion/aws/awstest"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/controlplanemirror"
	"github.com/poundlock/poundlock/test/embedded"
)

const (
	mapi, capi = "openshift-machine-api", "openshift-cluster-api"
	cluster    = "lock-7x2k9"
)

var (
	setKind   = schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1", Kind: "ControlPlaneMachineSet"}
	kit       = awstest.Kit()
	templates = kit.Platform.InfraMachineTemplate.GroupVersionKind
)

// TestReflection is one story on an API server, with the test as everybody else: the installer, people, the provider.
func TestReflection(t *testing.T) {
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
	w.run(t, plane)
	for _, ns := range []string{mapi, capi} {
		w.create(t, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}})
	}
	w.set(t, "m6i.xlarge", "")
	t.Run("without a cluster in Cluster API, it is said what is missing", w.lacks)
	w.cluster(t)
	t.Run("the template and the failure domains are reflected", w.reflects)
	t.Run("an idle pass writes nothing", w.rests)
	t.Run("another template takes the place of the first, which goes", w.follows)
	t.Run("what has been edited in Cluster API is put right", w.fixes)
	t.Run("a field that does not convert holds up a move before it begins", w.refuses)
	t.Run("and once it is fixed the move goes through", w.moves)
	t.Run("Cluster API's member is authoritative for the template then", w.speaksClusterAPI)
	t.Run("it does not go back in Cluster API's words", w.stays)
	t.Run("and does in Machine API's", w.returns)
	t.Run("a move that was caught on its way ends where it came from if it is cancelled", w.cancels)
	t.Run("the set goes, its template with it, and the failure domains stay", w.goes)
}

type world struct {
	client.Client
	mu     sync.Mutex
	writes []string
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *world) run(t *testing.T, plane *embedded.Plane) {
	t.Helper()
	rest := plane.Admin()
	rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
				w.mu.Lock()
				w.writes = append(w.writes, r.Method+" "+r.URL.Path)
				w.mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	mgr, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplanemirror.SetupWithManager(mgr, controlplanemirror.Options{Pairs: authority.Pairs{{MachineAPI: mapi, ClusterAPI: capi}}}); err != nil {
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

func (w *world) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.writes)
}

func (w *world) create(t *testing.T, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	o := (&unstructured.Unstructured{Object: content}).DeepCopy()
	status := o.Object["status"]
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if status != nil {
		w.patchStatus(t, o, map[string]any{"status": status})
	}
	return o
}

func (w *world) patchStatus(t *testing.T, o *unstructured.Unstructured, body map[string]any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, raw)); err != nil {
		t.Fatal(err)
	}
}

func object(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func (w *world) get(t *testing.T, kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o := object(kind, namespace, name)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *world) theSet(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return w.get(t, setKind, mapi, "cluster")
}

func (w *world) patch(t *testing.T, o *unstructured.Unstructured, patch string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, raw)); err != nil {
		t.Fatal(err)
	}
}

// cluster is what Cluster API has: an infrastructure cluster that somebody else manages, with a failure domain that is none of the set's.
func (w *world) cluster(t *testing.T) {
	t.Helper()
	w.create(t, map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": map[string]any{"name": "cluster"},
		"spec": kit.Infrastructure["spec"], "status": kit.Infrastructure["status"],
	})
	infra := object(kit.Platform.InfraCluster.GroupVersionKind, capi, cluster)
	infra.SetAnnotations(map[string]string{"cluster.x-k8s.io/managed-by": "installer"})
	infra.Object["spec"] = kit.InfraCluster
	infra.Object["status"] = map[string]any{"ready": true, "failureDomains": map[string]any{
		"us-east-1f": map[string]any{"controlPlane": false, "attributes": map[string]any{"a": "b"}}, "us-east-1a": map[string]any{"controlPlane": false},
	}}
	w.create(t, infra.Object)
	w.create(t, map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": cluster, "namespace": capi},
		"spec": map[string]any{"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSCluster", "name": cluster}},
	})
}

const labels = "{machine.openshift.io/cluster-api-cluster: lock-7x2k9, machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master}"

func domains(zones ...string) string {
	var out []string
	for _, z := range zones {
		out = append(out, fmt.Sprintf("{placement: {availabilityZone: us-east-1%s}, subnet: {type: ID, id: subnet-%s}}", z, z))
	}
	return "{platform: AWS, aws: [" + strings.Join(out, ", ") + "]}"
}

// machineTemplate is the union's member for Machine API.
func machineTemplate(t *testing.T, instanceType, more string) string {
	t.Helper()
	spec := (&unstructured.Unstructured{Object: kit.ProviderSpec}).DeepCopy().Object
	unstructured.RemoveNestedField(spec, "placement", "availabilityZone")
	delete(spec, "subnet")
	spec["instanceType"], spec["userDataSecret"] = instanceType, map[string]any{"name": "master-user-data"}
	spec["loadBalancers"] = []any{map[string]any{"name": cluster + "-int", "type": "network"}, map[string]any{"name": cluster + "-ext", "type": "network"}}
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	value := strings.TrimSuffix(string(raw), "}") + more + "}"
	return fmt.Sprintf("{machineType: machines_v1beta1_machine_openshift_io, machines_v1beta2_cluster_x_k8s_io: null, machines_v1beta1_machine_openshift_io: {failureDomains: %s, metadata: {labels: %s}, spec: {providerSpec: {value: %s}}}}",
		domains("b", "a"), labels, value)
}

func (w *world) set(t *testing.T, instanceType, more string) {
	t.Helper()
	template := strings.Replace(machineTemplate(t, instanceType, more), "machines_v1beta2_cluster_x_k8s_io: null, ", "", 1)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fmt.Sprintf(`
apiVersion: machine.openshift.io/v1
kind: ControlPlaneMachineSet
metadata: {name: cluster, namespace: %s}
spec: {replicas: 3, state: Active, selector: {matchLabels: %s}, template: %s}`, mapi, labels, template)), &o.Object); err != nil {
		t.Fatal(err)
	}
	w.create(t, o.Object)
}

// eventually waits for a probe that has nothing more to say.
func (w *world) eventually(t *testing.T, what string, probe func() string) {
	t.Helper()
	deadline, last := time.Now().Add(30*time.Second), ""
	for time.Now().Before(deadline) {
		if last = probe(); last == "" {
			return
		}
		select {
		case <-t.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("%s: %s", what, last)
}

func conditionOf(o *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m
		}
	}
	return nil
}

// condition waits for the set's authority and a condition of it, whose message has all of the words.
func (w *world) condition(t *testing.T, current, kind, status, reason string, words ...string) {
	t.Helper()
	w.eventually(t, kind, func() string {
		o := w.theSet(t)
		is, _, _ := unstructured.NestedString(o.Object, "status", "authoritativeAPI")
		c := conditionOf(o, kind)
		message, _ := c["message"].(string)
		lacks := slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(message, word) })
		if is != current || c["status"] != status || c["reason"] != reason || lacks {
			return fmt.Sprintf("%s, %v; want %s, %s %s %q", is, c, current, status, reason, words)
		}
		return ""
	})
}

// copied is a person's copy of a template of the set's.
const copied = "cluster-copied"

// ours are the names of the set's templates.
func (w *world) ours(t *testing.T) []string {
	t.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(templates.GroupVersion().WithKind(templates.Kind + "List"))
	if err := w.List(t.Context(), l, client.InNamespace(capi)); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range l.Items {
		if o.GetAnnotations()[authority.MirrorAnnotation] == "ControlPlaneMachineSet/cluster" && o.GetName() != copied {
			out = append(out, o.GetName())
		}
	}
	return out
}

// reflected waits until the set has one template of its own, with an instance type.
func (w *world) reflected(t *testing.T, instanceType string) (name string) {
	t.Helper()
	w.eventually(t, "a template with "+instanceType, func() string {
		all := w.ours(t)
		if len(all) != 1 {
			return fmt.Sprint(all)
		}
		name = all[0]
		got, _, _ := unstructured.NestedString(w.get(t, templates, capi, name).Object, "spec", "template", "spec", "instanceType")
		if got != instanceType {
			return name + " has " + got
		}
		return ""
	})
	return name
}

func (w *world) lacks(t *testing.T) {
	w.condition(t, "MachineAPI", "Synchronized", "False", "ClusterNotReady", "Infrastructure cluster (config.openshift.io) does not exist")
	w.patch(t, w.theSet(t), `{spec: {authoritativeAPI: ClusterAPI}}`)
	w.condition(t, "MachineAPI", "AuthoritySettled", "False", "NotSynchronized", "The move to Cluster API does not start", "ClusterNotReady", "Since 2")
	w.patch(t, w.theSet(t), `{spec: {authoritativeAPI: MachineAPI}}`)
	w.condition(t, "MachineAPI", "AuthoritySettled", "True", "Settled")
}

func (w *world) reflects(t *testing.T) {
	name := w.reflected(t, "m6i.xlarge")
	w.condition(t, "MachineAPI", "Synchronized", "True", "ResourceSynchronized", "AWSMachineTemplate openshift-cluster-api/"+name, "us-east-1a, us-east-1b")
	w.condition(t, "MachineAPI", "AuthoritySettled", "True", "Settled")
	o := w.get(t, templates, capi, name)
	if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].Kind != "Cluster" || !strings.HasPrefix(name, "cluster-") {
		t.Errorf("%s is owned by %v", name, refs)
	}
	if _, has, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec", "subnet"); has {
		t.Error("the template has the subnet of one of the failure domains")
	}
	infra := w.get(t, kit.Platform.InfraCluster.GroupVersionKind, capi, cluster)
	all, _, _ := unstructured.NestedMap(infra.Object, "status", "failureDomains")
	for name, want := range map[string]bool{"us-east-1a": true, "us-east-1b": true, "us-east-1f": false} {
		if is, found, _ := unstructured.NestedBool(all, name, "controlPlane"); !found || is != want {
			t.Errorf("%s: %v", name, all[name])
		}
	}
	if a, _, _ := unstructured.NestedString(all, "us-east-1f", "attributes", "a"); a != "b" || len(all) != 3 {
		t.Errorf("somebody else's failure domain was touched: %v", all)
	}
	generation, _, _ := unstructured.NestedInt64(w.theSet(t).Object, "status", "synchronizedGeneration")
	if generation != w.theSet(t).GetGeneration() {
		t.Errorf("synchronized in generation %d", generation)
	}
}

// rests pokes the set from all sides and waits until the last poke has been seen: by what follows a real change.
func (w *world) rests(t *testing.T) {
	before := w.written()
	for i := range 5 {
		w.patch(t, w.theSet(t), fmt.Sprintf("{metadata: {annotations: {poke: %q}}}", fmt.Sprint(i)))
		w.patch(t, w.get(t, kit.Platform.InfraCluster.GroupVersionKind, capi, cluster), fmt.Sprintf("{metadata: {annotations: {poke: %q}}}", fmt.Sprint(i)))
	}
	w.patch(t, w.theSet(t), "{spec: {strategy: {type: OnDelete}}}")
	w.eventually(t, "the change is seen", func() string {
		o := w.theSet(t)
		if g, _, _ := unstructured.NestedInt64(o.Object, "status", "synchronizedGeneration"); g != o.GetGeneration() {
			return fmt.Sprint(g)
		}
		return ""
	})
	if got := w.written()[len(before):]; len(got) != 1 || !strings.HasPrefix(got[0], "PATCH ") {
		t.Errorf("wrote %v", got)
	}
}

func (w *world) follows(t *testing.T) {
	first := w.reflected(t, "m6i.xlarge")
	w.patch(t, w.theSet(t), "{spec: {template: "+machineTemplate(t, "m6i.2xlarge", "")+"}}")
	second := w.reflected(t, "m6i.2xlarge")
	if first == second {
		t.Errorf("another content has the same name %s", first)
	}
	w.patch(t, w.theSet(t), "{spec: {template: "+machineTemplate(t, "m6i.xlarge", "")+"}}")
	if again := w.reflected(t, "m6i.xlarge"); again != first {
		t.Errorf("the same content was called %s, and is called %s now", first, again)
	}
}

func (w *world) fixes(t *testing.T) {
	name := w.reflected(t, "m6i.xlarge")
	w.patch(t, w.get(t, templates, capi, name), "{spec: {template: {spec: {instanceType: t3.micro}}}}")
	w.reflected(t, "m6i.xlarge")
	if err := w.Delete(t.Context(), object(templates, capi, name)); err != nil {
		t.Fatal(err)
	}
	w.reflected(t, "m6i.xlarge")
}

func (w *world) refuses(t *testing.T) {
	w.patch(t, w.theSet(t), "{spec: {authoritativeAPI: ClusterAPI, template: "+machineTemplate(t, "m6i.xlarge", `,"publicIpp":true,"deviceIndex":3`)+"}}")
	path := "spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value."
	w.condition(t, "MachineAPI", "Synchronized", "False", "FieldsNotConvertible", path+"publicIpp", path+"deviceIndex")
	w.condition(t, "MachineAPI", "AuthoritySettled", "False", "NotSynchronized", path+"publicIpp", path+"deviceIndex")
	w.reflected(t, "m6i.xlarge") // the last that could be said stays
}

func (w *world) moves(t *testing.T) {
	w.patch(t, w.theSet(t), "{spec: {template: "+machineTemplate(t, "m6i.xlarge", `,"publicIpp":null`)+"}}")
	w.condition(t, "ClusterAPI", "AuthoritySettled", "True", "Settled")
	w.condition(t, "ClusterAPI", "Synchronized", "True", "ResourceSynchronized")
	if origin, _, _ := unstructured.NestedString(w.theSet(t).Object, "status", "synchronizedAPI"); origin != "ClusterAPI" {
		t.Errorf("synchronizedAPI is %q", origin)
	}
	w.eventually(t, "events", func() string {
		l := &eventsv1.EventList{}
		if err := w.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		reported := map[string]bool{}
		for _, e := range l.Items {
			reported[e.Reason] = true
		}
		for _, reason := range []string{"TemplateReflected", "TemplateDeleted", "FailureDomainsReflected", "HandoffStarted", "HandoffCompleted", "NotSynchronized"} {
			if !reported[reason] {
				return fmt.Sprint(slices.Sorted(maps.Keys(reported)))
			}
		}
		return ""
	})
}

func member(template string, zones ...string) string {
	return fmt.Sprintf(`{machineType: machines_v1beta2_cluster_x_k8s_io, machines_v1beta1_machine_openshift_io: null, machines_v1beta2_cluster_x_k8s_io: {failureDomains: %s, metadata: {labels: %s},
		spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: %s}, bootstrap: {dataSecretName: master-user-data}}}}`, domains(zones...), labels, template)
}

func (w *world) speaksClusterAPI(t *testing.T) {
	name := w.reflected(t, "m6i.xlarge")
	w.patch(t, w.theSet(t), "{spec: {template: "+member(name, "a", "b", "c")+"}}")
	w.condition(t, "ClusterAPI", "Synchronized", "True", "ResourceSynchronized", name, "us-east-1a, us-east-1b, us-east-1c")
	if now := w.reflected(t, "m6i.xlarge"); now != name {
		t.Errorf("the template that the set names went")
	}
	larger := w.get(t, templates, capi, name).DeepCopy()
	larger.Object["metadata"] = map[string]any{"name": "larger", "namespace": capi}
	if err := unstructured.SetNestedField(larger.Object, "m6i.4xlarge", "spec", "template", "spec", "instanceType"); err != nil {
		t.Fatal(err)
	}
	theirs := w.get(t, templates, capi, name).DeepCopy()
	theirs.Object["metadata"] = map[string]any{"name": copied, "namespace": capi,
		"annotations": map[string]any{authority.MirrorAnnotation: "ControlPlaneMachineSet/cluster"}}
	w.create(t, theirs.Object)
	w.patch(t, w.theSet(t), "{spec: {template: "+member("larger", "a", "b", "c")+"}}")
	w.condition(t, "ClusterAPI", "Synchronized", "False", "FieldsNotConvertible",
		`spec.template.machines_v1beta2_cluster_x_k8s_io.spec.infrastructureRef: AWSMachineTemplate "larger" does not exist`)
	w.create(t, larger.Object)
	w.condition(t, "ClusterAPI", "Synchronized", "True", "ResourceSynchronized", "larger")
	w.eventually(t, "the template that nobody needs goes", func() string { return strings.Join(w.ours(t), " ") })
	w.get(t, templates, capi, copied) // it stays
}

func (w *world) stays(t *testing.T) {
	w.patch(t, w.theSet(t), "{spec: {authoritativeAPI: MachineAPI}}")
	w.condition(t, "ClusterAPI", "AuthoritySettled", "False", "TemplateIsClusterAPIs", "change the template to the type machines_v1beta1_machine_openshift_io", "Since 2")
}

func (w *world) returns(t *testing.T) {
	w.patch(t, w.theSet(t), "{spec: {template: "+machineTemplate(t, "m6i.4xlarge", "")+"}}")
	w.condition(t, "MachineAPI", "AuthoritySettled", "True", "Settled")
	w.reflected(t, "m6i.4xlarge")
}

// cancels stores what a crash on the way leaves behind.
func (w *world) cancels(t *testing.T) {
	w.patchStatus(t, w.theSet(t), map[string]any{"status": map[string]any{"authoritativeAPI": "Migrating", "synchronizedAPI": "MachineAPI"}})
	w.condition(t, "MachineAPI", "AuthoritySettled", "True", "Settled")
}

func (w *world) goes(t *testing.T) {
	if err := w.Delete(t.Context(), w.theSet(t)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	w.eventually(t, "nothing is left of it", func() string {
		o := object(setKind, mapi, "cluster")
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Sprint(err)
		}
		return strings.Join(w.ours(t), " ")
	})
	all, _, _ := unstructured.NestedMap(w.get(t, kit.Platform.InfraCluster.GroupVersionKind, capi, cluster).Object, "status", "failureDomains")
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1f"}) {
		t.Errorf("failure domains %v", got)
	}
}
