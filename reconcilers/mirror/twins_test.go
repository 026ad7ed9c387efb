// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/mirror"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

const twinsCluster = `
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {name: cluster}
spec: {platformSpec: {type: AWS}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: lock-7x2k9, namespace: openshift-cluster-api}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: lock-7x2k9}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: lock-7x2k9, namespace: openshift-cluster-api}
spec: {region: us-east-1}
`

// hold is somebody's finalizer: what carries it goes when the test says so.
const hold = "example.com/hold"

// twins is a world with pairs of one kind; the test is everybody but the mirror.
type twins struct {
	*world
	kind authority.Kind
}

// TestTwins is about pairs with one side that is foreign, absent, or being deleted, for each kind.
func TestTwins(t *testing.T) {
	stories.Long(t)
	w := twinsWorld(t)
	for _, kind := range authority.Kinds() {
		w := &twins{w, kind}
		t.Run(kind.Name, func(t *testing.T) {
			t.Run("a stranger that acts is left alone until it goes", w.strangerGoes)
			t.Run("a stranger that acts becomes the mirror once it has paused", w.strangerPauses)
			t.Run("what is created paused becomes the mirror", w.offered)
			t.Run("nothing is said of a stranger while the authoritative one ends", w.endsBesideStranger)
			t.Run("a mirror that goes and comes again", w.mirrorGoes)
			t.Run("the Machine API's mirror goes, and Cluster API's object says what it likes", w.machineAPIGoes)
			t.Run("the authoritative one ends, and its mirror says so to the last", w.authoritativeGoes)
		})
	}
	machines := &twins{w, authority.Kinds()[0]}
	t.Run("an infrastructure machine that belongs to nobody is in the way", machines.metByInfra)
	t.Run("an infrastructure machine is made in the moment before the mirror's", machines.overtaken)
	t.Run("a mirror whose instance the Machine does not name", machines.keepsMirrorsInstance)
	t.Run("an instance that a restored infrastructure machine alone names", machines.keepsRestoredInstance)
	t.Run("what Cluster API has begun does not become the mirror", machines.keepsBegun)
	t.Run("a Machine is mirrored in few requests", machines.isFrugal)
	t.Run("another instance than the Machine's is nobody's to take", machines.keepsInstance)
	t.Run("no mirror belongs to a set that is a stranger", machines.keepsFromStranger)
	t.Run("a set that has replaced a Machine whose mirror was lost", machines.waitsForRoom)
	t.Run("two sets that are created at once", machines.setsCreatedTwice)
}

// isFrugal: each object and each status costs one write, and one event has all of it.
func (w *twins) isFrugal(t *testing.T) {
	from := w.writes.number()
	w.adopt(t, "frugal", authority.MachineAPI)
	w.eventually(t, "it is mirrored", func() string { return w.unsynced(t, machineAPIMachine, "frugal") })
	w.waitQuiet(t)
	const (
		machineAPI = "PATCH /apis/machine.openshift.io/v1beta1/namespaces/" + mapi + "/machines/frugal"
		clusterAPI = "PATCH /apis/cluster.x-k8s.io/v1beta2/namespaces/" + capi + "/machines/frugal"
		infra      = "PATCH /apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/" + capi + "/awsmachines/frugal"
	)
	want := []string{
		machineAPI, // the finalizer
		clusterAPI, infra,
		clusterAPI + "/status", infra + "/status", machineAPI + "/status",
	}
	if diff := cmp.Diff(want, slices.DeleteFunc(w.writes.since(from), func(r string) bool { return !strings.Contains(r, "/frugal") })); diff != "" {
		t.Errorf("(-want +sent):\n%s", diff)
	}
	w.eventually(t, "one event", func() string {
		var notes []string
		for _, e := range w.list(t, schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, mapi) {
			if text(e, "regarding", "name") == "frugal" {
				notes = append(notes, text(e, "reason")+": "+text(e, "note"))
			}
		}
		if len(notes) != 1 || strings.Count(notes[0], "created ") != 2 {
			return strings.Join(notes, "\n") + " none"
		}
		return ""
	})
}

// twinsWorld is a cluster of AWS with the mirror alone.
func twinsWorld(t *testing.T) *world {
	t.Helper()
	return sharedWorld(t, twinsCluster, `{"type":"AWS","aws":{"region":"us-east-1"}}`)
}

// sharedWorld has the objects of a cluster of this platform, and the mirror alone, on the shared control plane. When the test ends, so does the mirror, and
// then the objects are removed.
func sharedWorld(t *testing.T, cluster, platform string) *world {
	t.Helper()
	plane := mirror.Shared.Plane(t)
	admin, err := client.New(plane.Admin(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Client: admin, writes: &writes{}}
	for _, name := range []string{mapi, capi} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := client.IgnoreAlreadyExists(w.Create(t.Context(), ns)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { empties(t, plane) })
	for text := range strings.SplitSeq(cluster, "---") {
		w.make(t, text)
	}
	w.patch(t, w.get(t, schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Infrastructure"}, "", "cluster"), "status",
		`{"status":{"infrastructureName":"lock-7x2k9","controlPlaneTopology":"HighlyAvailable","infrastructureTopology":"HighlyAvailable","platformStatus":`+platform+`}}`)
	w.mirror(t, plane)
	return w
}

// empties removes every custom object, whatever its finalizers: there is no controller left that would.
func empties(t *testing.T, plane *embedded.Plane) {
	ctx := context.WithoutCancel(t.Context())
	admin, err := client.New(plane.Admin(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	crds, err := embedded.CRDs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		kind := schema.GroupVersionKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		for _, v := range crd.Spec.Versions {
			if v.Storage {
				kind.Version = v.Name
			}
		}
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(kind)
		if err := admin.List(ctx, l); err != nil {
			t.Fatal(err)
		}
		for i := range l.Items {
			o := &l.Items[i]
			err := admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			if err == nil {
				err = admin.Delete(ctx, o)
			}
			if client.IgnoreNotFound(err) != nil {
				t.Errorf("removing %s %s: %v", kind.Kind, o.GetName(), err)
			}
		}
	}
}

func (w *world) make(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// adopt creates the Machine API object and stores which API is authoritative for it.
func (w *twins) adopt(t *testing.T, name string, api authority.API, change ...func(*unstructured.Unstructured)) {
	t.Helper()
	o := &unstructured.Unstructured{}
	text := testcluster.MachineSet(name, 0)
	if w.kind.Name == "MachineHealthCheck" {
		text = fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: MachineHealthCheck, metadata: {name: %s, namespace: %s}, spec: {selector: {matchLabels: {a: b}}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 5m}]}}`, name, mapi)
	}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	if w.kind.Name == "Machine" {
		spec, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
		o.Object["kind"], o.Object["spec"] = "Machine", spec
	}
	_ = unstructured.SetNestedField(o.Object, string(api), "spec", "authoritativeAPI")
	for _, f := range change {
		f(o)
	}
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.patch(t, o, "status", fmt.Sprintf(`{"status":{"authoritativeAPI":%q,"synchronizedAPI":%q}}`, api, api))
}

// stranger creates a Cluster API object as its user would, with a status of 1.
func (w *twins) stranger(t *testing.T, name string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	ref := `clusterName: lock-7x2k9, bootstrap: {dataSecretName: theirs}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: %s, name: theirs}`
	o := &unstructured.Unstructured{}
	spec := map[string]string{
		"Machine":            fmt.Sprintf(ref, "AWSMachine"),
		"MachineSet":         `clusterName: lock-7x2k9, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {` + fmt.Sprintf(ref, "AWSMachineTemplate") + `}}`,
		"MachineHealthCheck": `clusterName: lock-7x2k9, selector: {matchLabels: {a: theirs}}`,
	}[w.kind.Name]
	text := fmt.Sprintf("{apiVersion: cluster.x-k8s.io/v1beta2, kind: %s, metadata: {name: %s, namespace: %s}, spec: {%s}}", w.kind.Name, name, capi, spec)
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(o)
	}
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.say(t, w.core(t, name), 1)
	return w.core(t, name)
}

func held(finalizers ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { o.SetFinalizers(finalizers) }
}

func pausedAlready(o *unstructured.Unstructured) {
	o.SetAnnotations(map[string]string{authority.PausedAnnotation: ""})
}

func (w *twins) mapi(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return w.get(t, w.kind.MachineAPIGVK(), mapi, name)
}

func (w *twins) core(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return w.get(t, w.kind.ClusterAPIGVK(), capi, name)
}

// say has an object's controller observe a number, and said reads it.
func (w *twins) say(t *testing.T, o *unstructured.Unstructured, n int) {
	t.Helper()
	w.patch(t, o, "status", fmt.Sprintf(map[string]string{
		"Machine":            `{"status":{"phase":"Running","addresses":[{"type":"InternalIP","address":"10.0.0.%d"}]}}`,
		"MachineSet":         `{"status":{"replicas":%d}}`,
		"MachineHealthCheck": `{"status":{"expectedMachines":%d,"currentHealthy":0,"remediationsAllowed":0}}`,
	}[w.kind.Name], n))
}

func (w *twins) said(o *unstructured.Unstructured) int {
	if o == nil {
		return -1
	}
	if w.kind.Name == "Machine" {
		n, addresses := 0, below(o, "status", "addresses")
		if len(addresses) > 0 {
			_, _ = fmt.Sscanf(fmt.Sprint(addresses[0].(map[string]any)["address"]), "10.0.0.%d", &n)
		}
		return n
	}
	field := map[string]string{"MachineSet": "replicas", "MachineHealthCheck": "expectedMachines"}[w.kind.Name]
	n, _, _ := unstructured.NestedInt64(o.Object, "status", field)
	return int(n)
}

func below(o *unstructured.Unstructured, path ...string) []any {
	list, _, _ := unstructured.NestedSlice(o.Object, path...)
	return list
}

// strange waits until the Machine API object says that a stranger is in the way, with these words.
func (w *twins) strange(t *testing.T, name, words string) {
	t.Helper()
	w.eventually(t, name+" says why it is not mirrored", func() string {
		c := condition(w.mapi(t, name), "Synchronized")
		message, _ := c["message"].(string)
		if c["status"] != "False" || c["reason"] != "ForeignTwin" || !strings.Contains(message, words) || !strings.Contains(message, name) {
			return fmt.Sprint(c)
		}
		return ""
	})
}

// untouched wants the stranger as it was when it was read last.
func (w *twins) untouched(t *testing.T, before *unstructured.Unstructured) {
	t.Helper()
	w.quietFor(t, 5)
	if now := w.get(t, before.GroupVersionKind(), capi, before.GetName()); now == nil || now.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("somebody wrote to the stranger: %s", show(now))
	}
}

// mirrored waits until the pair is equal, its mirror Poundlock's, and says n on both sides.
func (w *twins) mirrored(t *testing.T, name string, n int) *unstructured.Unstructured {
	t.Helper()
	var core *unstructured.Unstructured
	w.eventually(t, name+" mirrored", func() string {
		core = w.core(t, name)
		if core == nil || core.GetAnnotations()[authority.MirrorAnnotation] != w.kind.Name+"/"+name || w.said(core) != n || w.said(w.mapi(t, name)) != n {
			return show(core) + show(w.mapi(t, name))
		}
		return w.unsynced(t, w.kind.MachineAPIGVK(), name)
	})
	return core
}

func (w *twins) strangerGoes(t *testing.T) {
	theirs := w.stranger(t, "goes", held(hold))
	w.adopt(t, "goes", authority.MachineAPI)
	w.say(t, w.mapi(t, "goes"), 2)
	w.strange(t, "goes", "is not paused")
	w.shown(t, "goes", "ForeignTwin")
	if _, marked := w.mapi(t, "goes").GetAnnotations()[authority.BesideForeignAnnotation]; w.kind.Name != "MachineSet" && marked != (w.kind.Name == "Machine") {
		t.Errorf("a %s is marked: %t", w.kind.Name, marked)
	}
	w.untouched(t, theirs)
	if o := w.mapi(t, "goes"); slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) {
		t.Error("an object without a mirror has the sync finalizer")
	}
	if err := w.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.strange(t, "goes", "is being deleted")
	w.untouched(t, w.core(t, "goes"))
	w.patch(t, w.core(t, "goes"), "", `{"metadata":{"finalizers":null}}`)
	if now := w.mirrored(t, "goes", 2); now.GetUID() == theirs.GetUID() || now.GetAnnotations()[authority.PausedAnnotation] == "" {
		t.Errorf("%s", show(now))
	}
	if _, marked := w.mapi(t, "goes").GetAnnotations()[authority.BesideForeignAnnotation]; marked {
		t.Error("the mark stays when nothing is in the way")
	}
	w.shown(t, "goes", "")
}

// shown waits until the metric has this reason for the pair, and since when; "" for none.
func (w *twins) shown(t *testing.T, name, reason string) {
	t.Helper()
	w.eventually(t, "the metric says "+reason, func() string {
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, f := range families {
			for _, m := range f.GetMetric() {
				labels := map[string]string{}
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if f.GetName() == "poundlock_mirror_failing_since_timestamp_seconds" && labels["kind"] == w.kind.Name && labels["name"] == name &&
					m.GetGauge().GetValue() > 0 {
					text += labels["reason"]
				}
			}
		}
		if text != reason {
			return "it says " + text
		}
		return ""
	})
}

func (w *twins) strangerPauses(t *testing.T) {
	w.stranger(t, "pauses")
	answer := func(status string) *unstructured.Unstructured {
		w.patch(t, w.core(t, "pauses"), "status",
			fmt.Sprintf(`{"status":{"conditions":[{"type":"Paused","status":%q,"reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, status))
		return w.core(t, "pauses")
	}
	theirs := answer("False")
	w.adopt(t, "pauses", authority.MachineAPI)
	w.say(t, w.mapi(t, "pauses"), 2)
	w.strange(t, "pauses", "is not paused")
	w.untouched(t, theirs)
	w.patch(t, theirs.DeepCopy(), "", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	w.strange(t, "pauses", "acknowledge")
	w.untouched(t, w.core(t, "pauses"))
	answer("True")
	if now := w.mirrored(t, "pauses", 2); now.GetUID() != theirs.GetUID() || strings.Contains(fmt.Sprint(now.Object["spec"]), "theirs") {
		t.Errorf("it did not become the mirror: %s", show(now))
	}
}

func (w *twins) offered(t *testing.T) {
	theirs := w.stranger(t, "offered", pausedAlready)
	w.adopt(t, "offered", authority.MachineAPI)
	w.say(t, w.mapi(t, "offered"), 2)
	if now := w.mirrored(t, "offered", 2); now.GetUID() != theirs.GetUID() || strings.Contains(fmt.Sprint(now.Object["spec"]), "theirs") {
		t.Errorf("it did not become the mirror: %s", show(now))
	}
}

// endsBesideStranger: the Machine API object had a mirror once, and has a stranger beside it when it ends.
func (w *twins) endsBesideStranger(t *testing.T) {
	theirs := w.stranger(t, "ends")
	w.adopt(t, "ends", authority.MachineAPI, held(hold, authority.SyncFinalizer, authority.MachineAPIMachineFinalizer))
	w.strange(t, "ends", "is not paused")
	if err := w.Delete(t.Context(), w.mapi(t, "ends")); err != nil {
		t.Fatal(err)
	}
	w.say(t, w.mapi(t, "ends"), 2)
	w.untouched(t, theirs)
	if w.kind.MachineAPIFinalizer != "" {
		w.patch(t, w.mapi(t, "ends"), "", fmt.Sprintf(`{"metadata":{"finalizers":[%q,%q]}}`, hold, authority.SyncFinalizer))
	}
	w.eventually(t, "the sync finalizer goes", func() string {
		if o := w.mapi(t, "ends"); slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) {
			return show(o)
		}
		return ""
	})
	w.patch(t, w.mapi(t, "ends"), "", `{"metadata":{"finalizers":null}}`)
	w.eventually(t, "it is gone", func() string {
		if o := w.mapi(t, "ends"); o != nil {
			return show(o)
		}
		return ""
	})
	w.untouched(t, theirs)
}

func (w *twins) mirrorGoes(t *testing.T) {
	w.adopt(t, "comes", authority.MachineAPI)
	w.say(t, w.mapi(t, "comes"), 2)
	before := w.mirrored(t, "comes", 2)
	w.patch(t, before.DeepCopy(), "", fmt.Sprintf(`{"metadata":{"finalizers":[%q,%q]}}`, hold, authority.SyncFinalizer))
	if err := w.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "Poundlock's finalizer goes", func() string {
		if o := w.core(t, "comes"); slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) {
			return show(o)
		}
		return ""
	})
	w.say(t, w.mapi(t, "comes"), 3)
	w.untouched(t, w.core(t, "comes")) // it is to be recreated, and that one will say it
	w.patch(t, w.core(t, "comes"), "", `{"metadata":{"finalizers":null}}`)
	if now := w.mirrored(t, "comes", 3); now.GetUID() == before.GetUID() {
		t.Errorf("%s", show(now))
	}
}

// over stores for which Cluster API is authoritative a pair, as the handoff does in the end, and waits until it is mirrored back.
func (w *twins) over(t *testing.T, name string) {
	t.Helper()
	gvk := w.kind.MachineAPIGVK()
	w.patch(t, w.mapi(t, name), "", `{"spec":{"authoritativeAPI":"ClusterAPI"}}`)
	w.patch(t, w.mapi(t, name), "status", `{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}}`)
	w.switchTo(t, gvk, name, authority.ClusterAPI)
	w.patch(t, w.core(t, name), "", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	if w.kind.InfraActs() {
		w.patch(t, w.get(t, awsMachine, capi, name), "", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	}
	w.eventually(t, name+" mirrored from Cluster API", func() string { return w.unsynced(t, gvk, name) })
}

func (w *twins) machineAPIGoes(t *testing.T) {
	w.adopt(t, "stays", authority.MachineAPI)
	w.mirrored(t, "stays", 0)
	w.over(t, "stays")
	w.say(t, w.core(t, "stays"), 4)
	w.eventually(t, "the Machine API object says what Cluster API observes", func() string {
		if o := w.mapi(t, "stays"); w.said(o) != 4 {
			return show(o)
		}
		return ""
	})
	w.patch(t, w.mapi(t, "stays"), "", fmt.Sprintf(`{"metadata":{"finalizers":[%q,%q]}}`, hold, authority.SyncFinalizer))
	if err := w.Delete(t.Context(), w.mapi(t, "stays")); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "Poundlock's finalizer goes", func() string {
		if o := w.mapi(t, "stays"); slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) {
			return show(o)
		}
		return ""
	})
	w.say(t, w.core(t, "stays"), 5)
	w.quietFor(t, 5)
	if o := w.mapi(t, "stays"); w.said(o) != 4 {
		t.Errorf("what goes is still written to: %s", show(o))
	}
	w.patch(t, w.mapi(t, "stays"), "", `{"metadata":{"finalizers":null}}`)
	w.eventually(t, "Cluster API's object is its own", func() string {
		if o := w.core(t, "stays"); o == nil || o.GetAnnotations()[authority.MirrorAnnotation] != "" || slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) {
			return show(o)
		}
		return ""
	})
	w.say(t, w.core(t, "stays"), 6)
	w.untouched(t, w.core(t, "stays"))
	if o := w.core(t, "stays"); o.GetDeletionTimestamp() != nil || w.said(o) != 6 {
		t.Errorf("%s", show(o))
	}
}

// authoritativeGoes: while a controller holds what is authoritative and going, the mirror, going too, says what it says.
func (w *twins) authoritativeGoes(t *testing.T) {
	for _, api := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		finalizer := map[authority.API]string{authority.MachineAPI: w.kind.MachineAPIFinalizer, authority.ClusterAPI: w.kind.ClusterAPIFinalizer}[api]
		if finalizer == "" {
			continue // no controller holds it
		}
		t.Run(api.Text(), func(t *testing.T) {
			name := "last-" + strings.ToLower(string(api))
			w.adopt(t, name, authority.MachineAPI)
			w.mirrored(t, name, 0)
			from, to := w.mapi, w.core
			if api == authority.ClusterAPI {
				w.over(t, name)
				from, to = w.core, w.mapi
			}
			w.patch(t, from(t, name), "", fmt.Sprintf(`{"metadata":{"finalizers":[%q,%q]}}`, authority.SyncFinalizer, finalizer))
			if err := w.Delete(t.Context(), from(t, name)); err != nil {
				t.Fatal(err)
			}
			w.eventually(t, "the mirror goes too, and waits", func() string {
				if o := to(t, name); o.GetDeletionTimestamp() == nil {
					return show(o)
				}
				return ""
			})
			w.say(t, from(t, name), 7)
			w.eventually(t, "the mirror says it", func() string {
				if o := to(t, name); w.said(o) != 7 {
					return show(o)
				}
				return ""
			})
			if o := to(t, name); slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) { // there is no collector here
				w.patch(t, o, "", fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, authority.SyncFinalizer))
			}
			w.patch(t, from(t, name), "", fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, authority.SyncFinalizer))
			w.eventually(t, "both are gone", func() string {
				if a, b := from(t, name), to(t, name); a != nil || b != nil {
					return show(a) + show(b)
				}
				return ""
			})
		})
	}
}

func (w *twins) keepsInstance(t *testing.T) {
	runs := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "aws:///us-east-1a/i-0123456789abcdef0", "spec", "providerID")
	}
	theirs := w.stranger(t, "runs", pausedAlready, runs)
	w.adopt(t, "runs", authority.MachineAPI)
	w.strange(t, "runs", "i-0123456789abcdef0")
	w.untouched(t, theirs)
	if err := w.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.mirrored(t, "runs", 0)

	// The provider's object alone has the name.
	infra := w.make(t, `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachine, metadata: {name: alone, namespace: openshift-cluster-api}, spec: {instanceType: m6i.large, providerID: "aws:///us-east-1a/i-0123456789abcdef1"}}`)
	w.adopt(t, "alone", authority.MachineAPI)
	w.strange(t, "alone", "i-0123456789abcdef1")
	w.untouched(t, infra)
	if core := w.core(t, "alone"); core != nil {
		t.Errorf("half a mirror: %s", show(core))
	}
	if err := w.Delete(t.Context(), infra); err != nil {
		t.Fatal(err)
	}
	w.mirrored(t, "alone", 0)
}

// watch returns the changes of an object from the version that is given.
func (w *twins) watch(t *testing.T, o *unstructured.Unstructured) <-chan watch.Event {
	t.Helper()
	c, err := dynamic.NewForConfig(mirror.Shared.Plane(t).Admin())
	if err != nil {
		t.Fatal(err)
	}
	resource := o.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(o.GetKind()) + "s")
	changes, err := c.Resource(resource).Namespace(o.GetNamespace()).Watch(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=" + o.GetName(), ResourceVersion: o.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(changes.Stop)
	return changes.ResultChan()
}

const bareInfra = `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachine, metadata: {name: %s, namespace: openshift-cluster-api}, spec: {instanceType: m6i.large}}`

func pausedInfra() string { return `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}` }

func (w *twins) metByInfra(t *testing.T) {
	infra := w.make(t, fmt.Sprintf(bareInfra, "bare"))
	w.adopt(t, "bare", authority.MachineAPI)
	w.strange(t, "bare", "belongs to no Machine. Annotate that object with cluster.x-k8s.io/paused")
	w.untouched(t, infra)
	w.patch(t, infra, "", pausedInfra())
	w.mirrored(t, "bare", 0)

	// As it is restored from a backup of a time in which Cluster API was authoritative: marked, and not paused.
	w.pausedFirst(t, "infra-restored", func(*unstructured.Unstructured) {})
	// The same, and somebody deletes it. Without an owner, the provider does not remove its finalizer.
	w.pausedFirst(t, "infra-restored-ending", func(o *unstructured.Unstructured) {
		if err := w.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	})

	infra = w.make(t, fmt.Sprintf(bareInfra, "bare-there"))
	w.adopt(t, "bare-there", authority.ClusterAPI)
	w.strange(t, "bare-there", "has the name that the mirror's infrastructure machine needs: delete that object")
	w.untouched(t, infra)
	if err := w.Delete(t.Context(), infra); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "bare-there is mirrored", func() string { return w.unsynced(t, machineAPIMachine, "bare-there") })
}

// pausedFirst restores an infrastructure machine, and fails if the mirror gives it an owner before it is paused: the provider would act.
func (w *twins) pausedFirst(t *testing.T, name string, meanwhile func(*unstructured.Unstructured)) {
	t.Helper()
	restored := w.make(t, strings.Replace(fmt.Sprintf(bareInfra, name), "namespace:",
		"finalizers: [awsmachine.infrastructure.cluster.x-k8s.io], annotations: {poundlock.openshift.io/mirror-of: Machine/"+name+"}, namespace:", 1))
	versions := w.watch(t, restored)
	meanwhile(restored)
	w.adopt(t, name, authority.MachineAPI)
	w.mirrored(t, name, 0)
	owned := false
	for !owned {
		var o *unstructured.Unstructured
		select {
		case e := <-versions:
			o, _ = e.Object.(*unstructured.Unstructured)
		case <-time.After(time.Minute):
		}
		if o == nil {
			t.Fatal("the restored infrastructure machine has no owner")
		}
		if owned = len(o.GetOwnerReferences()) > 0; owned && o.GetAnnotations()[authority.PausedAnnotation] == "" {
			t.Errorf("it has an owner before it is paused, so the provider acts: %s", show(o))
		}
	}
}

// overtaken: Cluster API's Machine is made first, and the manager may stop before what it refers to.
func (w *twins) overtaken(t *testing.T) {
	w.adopt(t, "pattern", authority.MachineAPI)
	first := w.mirrored(t, "pattern", 0)
	for _, remedy := range []string{"delete", "pause"} {
		name := "overtaken-" + remedy
		infra := w.make(t, fmt.Sprintf(bareInfra, name))
		mirror := first.DeepCopy()
		mirror.SetName(name)
		mirror.SetResourceVersion("")
		mirror.SetUID("")
		mirror.SetAnnotations(map[string]string{authority.PausedAnnotation: "", authority.MirrorAnnotation: "Machine/" + name})
		if err := unstructured.SetNestedField(mirror.Object, name, "spec", "infrastructureRef", "name"); err != nil {
			t.Fatal(err)
		}
		if err := w.Create(t.Context(), mirror); err != nil {
			t.Fatal(err)
		}
		w.adopt(t, name, authority.MachineAPI)
		w.strange(t, name, "AWSMachine")
		w.untouched(t, infra)
		if remedy == "delete" {
			if err := w.Delete(t.Context(), infra); err != nil {
				t.Fatal(err)
			}
		} else {
			w.patch(t, infra, "", pausedInfra())
		}
		if now := w.mirrored(t, name, 0); now.GetUID() != mirror.GetUID() {
			t.Errorf("%s: another Cluster API Machine", name)
		}
	}
}

// keepsMirrorsInstance: a Machine is restored without its ID beside the mirror that has it.
func (w *twins) keepsMirrorsInstance(t *testing.T) {
	const id = "aws:///us-east-1a/i-0123456789abcdef2"
	infra := w.make(t, strings.NewReplacer("name: %s",
		`name: restored, annotations: {cluster.x-k8s.io/paused: "", poundlock.openshift.io/mirror-of: Machine/restored}`,
		"spec: {", `spec: {providerID: "`+id+`", `).Replace(bareInfra))
	w.adopt(t, "restored", authority.MachineAPI)
	w.strange(t, "restored", "Set spec.providerID: "+id)
	w.untouched(t, infra)
	w.patch(t, w.mapi(t, "restored"), "", `{"spec":{"providerID":"`+id+`"}}`)
	w.mirrored(t, "restored", 0)
	if now := w.get(t, infra.GroupVersionKind(), capi, "restored"); text(now, "spec", "providerID") != id {
		t.Errorf("%s", show(now))
	}
}

// keepsRestoredInstance: the same for Cluster API. Without the ID, Cluster API could create a second instance.
func (w *twins) keepsRestoredInstance(t *testing.T) {
	const id = "aws:///us-east-1a/i-0123456789abcdef3"
	infra := w.make(t, strings.NewReplacer("name: %s", `name: restored-there, annotations: {poundlock.openshift.io/mirror-of: Machine/restored-there}`,
		"spec: {", `spec: {providerID: "`+id+`", `).Replace(bareInfra))
	w.adopt(t, "restored-there", authority.ClusterAPI)
	w.strange(t, "restored-there", "Restore the Cluster API Machine with spec.providerID: "+id)
	w.untouched(t, infra)
	if err := w.Delete(t.Context(), w.mapi(t, "restored-there")); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the Machine API Machine is gone", func() string {
		if machine := w.get(t, machineAPIMachine, mapi, "restored-there"); machine != nil {
			return show(machine)
		}
		return ""
	})
	if now := w.get(t, infra.GroupVersionKind(), capi, "restored-there"); now.GetDeletionTimestamp() != nil || text(now, "spec", "providerID") != id {
		t.Errorf("%s", show(now))
	}
}

// keepsBegun: Cluster API's controllers may have asked for an instance whose ID is not stored.
func (w *twins) keepsBegun(t *testing.T) {
	core := w.stranger(t, "begun", pausedAlready, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "begun", "spec", "infrastructureRef", "name")
	})
	infra := w.make(t, fmt.Sprintf(bareInfra, "begun"))
	yes := true
	owner := metav1.OwnerReference{APIVersion: core.GetAPIVersion(), Kind: "Machine", Name: "begun", UID: core.GetUID(), Controller: &yes}
	infra.SetOwnerReferences([]metav1.OwnerReference{owner})
	infra.SetAnnotations(map[string]string{authority.PausedAnnotation: ""})
	if err := w.Update(t.Context(), infra); err != nil {
		t.Fatal(err)
	}
	w.adopt(t, "begun", authority.MachineAPI)
	w.strange(t, "begun", "whose ID its controllers have not stored")
	w.untouched(t, infra)
	w.untouched(t, core)
	for _, o := range []*unstructured.Unstructured{core, infra} { // nobody collects garbage here
		if err := w.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.mirrored(t, "begun", 0)
}

// keepsFromStranger: a set that acts would end what it counts among its own.
func (w *twins) keepsFromStranger(t *testing.T) {
	set, _ := authority.KindNamed("MachineSet")
	sets := &twins{w.world, set}
	theirs := sets.stranger(t, "parent")
	sets.adopt(t, "parent", authority.MachineAPI)
	sets.strange(t, "parent", "is not paused")
	parent := sets.mapi(t, "parent")
	w.adopt(t, "parent-child", authority.MachineAPI, func(o *unstructured.Unstructured) {
		yes := true
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: parent.GetAPIVersion(), Kind: "MachineSet", Name: "parent",
			UID: parent.GetUID(), Controller: &yes}})
	})
	if owner := metav1.GetControllerOf(w.mirrored(t, "parent-child", 0)); owner != nil {
		t.Errorf("the mirror belongs to %v", owner)
	}
	w.patch(t, theirs, "", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	w.eventually(t, "the mirror belongs to its set's", func() string {
		if owner := metav1.GetControllerOf(w.core(t, "parent-child")); owner == nil || owner.UID != theirs.GetUID() {
			return fmt.Sprint(owner)
		}
		return ""
	})
}

// waitsForRoom: Cluster API's set has replaced a Machine that had lost its mirror. With the mirror, it would delete one of the two.
func (w *twins) waitsForRoom(t *testing.T) {
	set, _ := authority.KindNamed("MachineSet")
	sets := &twins{w.world, set}
	sets.adopt(t, "full", authority.MachineAPI, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, int64(1), "spec", "replicas")
	})
	theirs := sets.mirrored(t, "full", 0)
	for _, api := range []authority.API{authority.Migrating, authority.ClusterAPI} {
		w.patch(t, sets.mapi(t, "full"), "status", fmt.Sprintf(`{"status":{"authoritativeAPI":%q}}`, api))
	}
	w.patch(t, sets.mapi(t, "full"), "status", `{"status":{"synchronizedAPI":"ClusterAPI"}}`)
	w.patch(t, theirs, "", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	owns := func(set, o *unstructured.Unstructured) {
		yes := true
		labels, _, _ := unstructured.NestedStringMap(set.Object, "spec", "template", "metadata", "labels")
		o.SetLabels(labels)
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: set.GetAPIVersion(), Kind: "MachineSet", Name: "full", UID: set.GetUID(), Controller: &yes}})
	}
	other := w.stranger(t, "full-other", func(o *unstructured.Unstructured) { owns(theirs, o) })
	w.adopt(t, "full-own", authority.MachineAPI, func(o *unstructured.Unstructured) { owns(sets.mapi(t, "full"), o) })
	w.eventually(t, "full-own says that its set is full", func() string {
		c := condition(w.mapi(t, "full-own"), "Synchronized")
		message := fmt.Sprint(c["message"])
		if c["reason"] == "MachineSetIsFull" && strings.Contains(message, "MachineSet full of Cluster API has 1 other Machine, and spec.replicas asks for 1") {
			return ""
		}
		return fmt.Sprint(c)
	})
	if core := w.core(t, "full-own"); core != nil {
		t.Errorf("%s", show(core))
	}
	if err := w.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(w.mirrored(t, "full-own", 0)); owner == nil || owner.UID != theirs.GetUID() {
		t.Errorf("the mirror belongs to %v", owner)
	}
}

// setsCreatedTwice: neither has a Machine. The mark keeps both from their first one also while nobody answers, until a person has decided.
func (w *twins) setsCreatedTwice(t *testing.T) {
	set, _ := authority.KindNamed("MachineSet")
	sets := &twins{w.world, set}
	theirs := sets.stranger(t, "twice")
	sets.say(t, theirs, 0)
	sets.adopt(t, "twice", authority.MachineAPI)
	sets.strange(t, "twice", "Both sets were created at the same moment")
	sets.strange(t, "twice", "kubectl -n openshift-cluster-api delete machinesets.cluster.x-k8s.io twice")
	if _, marked := sets.mapi(t, "twice").GetAnnotations()[authority.BesideForeignAnnotation]; !marked {
		t.Error("it is not marked")
	}
	sets.untouched(t, sets.core(t, "twice"))
	if err := w.Delete(t.Context(), sets.core(t, "twice")); err != nil {
		t.Fatal(err)
	}
	sets.mirrored(t, "twice", 0)
	if _, marked := sets.mapi(t, "twice").GetAnnotations()[authority.BesideForeignAnnotation]; marked {
		t.Error("the mark stays when nothing is in the way")
	}
}
