// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

func kinds(t *testing.T, story func(*world)) {
	for _, kind := range authority.Kinds() {
		t.Run(kind.Name, func(t *testing.T) { story(newWorld(t, kind.Name)) })
	}
}

func TestThereAndBack(t *testing.T) {
	kinds(t, func(w *world) {
		w.machineAPI(authority.MachineAPI)
		w.waitSettled(authority.MachineAPI)
		for range 2 {
			for _, to := range []authority.API{authority.ClusterAPI, authority.MachineAPI} {
				w.request(to)
				w.waitSettled(to)
				w.authoritative(to)
				if n := w.pass(); n != 0 {
					w.Errorf("an idle pass wrote %d times", n)
				}
			}
		}
	})
}

func TestAMoveIsReportedOnce(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	before := w.completed()
	w.acknowledged() // of the adoption
	w.request(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)
	if n := w.completed() - before; n != 1 {
		t.Errorf("counted %v moves", n)
	}
	heard := w.acknowledged()
	for _, reason := range []string{authority.ReasonStarted, authority.ReasonCompleted, authority.ReasonSettled} {
		if n := strings.Count(heard, " "+reason+" "); n != 1 {
			t.Errorf("%d events of reason %s in:\n%s", n, reason, heard)
		}
	}
	t.Log(heard)
}

// acknowledged are the events since the last time, one a line.
func (w *world) acknowledged() (out string) {
	for {
		select {
		case e := <-w.events.Events:
			out += e + "\n"
		default:
			return out
		}
	}
}

// completed counts the moves of Machines to Cluster API in this process.
func (w *world) completed() (n float64) {
	w.series("poundlock_handoffs_total", func(labels map[string]string, value float64) {
		if labels["kind"] == "Machine" && labels["to"] == "ClusterAPI" && labels["outcome"] == "completed" {
			n += value
		}
	})
	return n
}

// TestWithoutFields is about a CRD that has no authoritativeAPI, as that of MachineHealthCheck without Poundlock's overlay.
func TestWithoutFields(t *testing.T) {
	w := newWorld(t, "Machine")
	w.kind.Name, w.kind.Resource, w.r.kind.Name = "BareCheck", "barechecks", "BareCheck"
	w.kind.ClusterAPI, w.r.kind.ClusterAPI = w.kind.MachineAPI, w.kind.MachineAPI // Cluster API has no such kind
	w.install(bare)
	w.create(fmt.Sprintf("{apiVersion: machine.openshift.io/v1beta1, kind: BareCheck, metadata: {name: %s, namespace: %s}, spec: {selector: a}}",
		name, w.pair.MachineAPI))
	before := w.of(w.mapi()).GetResourceVersion()
	for range 2 {
		w.pass()
	}
	if after := w.of(w.mapi()); after.GetResourceVersion() != before {
		t.Errorf("something was written: %v", after.Object)
	}
}

func TestMadeForClusterAPI(t *testing.T) {
	kinds(t, func(w *world) {
		w.machineAPI(authority.ClusterAPI)
		w.pass()
		if got := w.shape().Current; got != authority.ClusterAPI {
			w.Fatalf("adopted as %q", got)
		}
		w.waitSettled(authority.ClusterAPI)
		w.authoritative(authority.ClusterAPI)
	})
}

// TestAPausedCluster has a person pause Cluster API's Cluster: its controllers answer that they are paused, no move back begins, and the condition says whose
// pause that is.
func TestAPausedCluster(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)
	w.create(fmt.Sprintf("{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: %s}, spec: {paused: true, "+
		"infrastructureRef: {apiGroup: %s, kind: AWSCluster, name: c}}}", w.pair.ClusterAPI, infraGroup))
	stands := func() {
		for _, o := range []ref{w.core(), w.provider()} {
			w.answer(o, false, "", false)
		}
	}
	stands()
	for _, asked := range []authority.API{authority.ClusterAPI, authority.MachineAPI} {
		w.request(asked)
		for range 3 {
			w.pass()
		}
		value := w.shape().Condition(authority.ConditionSettled)
		if w.shape().Current != authority.ClusterAPI || value.Reason != authority.ReasonPausedElsewhere || !strings.Contains(value.Message, "Cluster c in "+w.pair.ClusterAPI+" has spec.paused: true") {
			t.Errorf("%s is asked for: status %s, %s: %s", asked, w.shape().Current, value.Reason, value.Message)
		}
	}
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(facts.ClusterKind)
	cluster.SetNamespace(w.pair.ClusterAPI)
	cluster.SetName("c")
	if err := w.Patch(t.Context(), cluster, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":false}}`))); err != nil {
		t.Fatal(err)
	}
	stands()
	w.pass()
	if reason := w.reason(); reason != authority.ReasonNotResumed {
		t.Errorf("unpaused, and nobody has answered: %s", reason)
	}
	w.waitSettled(authority.MachineAPI)
}

// TestCancel sets the request back after each pass of a move, before and after the others have answered to it.
func TestCancel(t *testing.T) {
	for _, from := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		for _, answered := range []bool{false, true} {
			t.Run(fmt.Sprintf("from %s, answered %t", from, answered), func(t *testing.T) { cancelAfterEach(t, from, answered) })
		}
	}
}

func cancelAfterEach(t *testing.T, from authority.API, answered bool) {
	w := newWorld(t, "Machine")
	w.machineAPI(from)
	w.waitSettled(from)
	for passes := 1; ; passes++ {
		w.request(from.Other())
		for range passes {
			w.everybody()
			w.pass()
		}
		if w.shape().Current == from.Other() {
			if passes < 3 {
				t.Errorf("a move took %d passes: too few to have been cancelled on its way", passes)
			}
			return
		}
		if answered {
			w.everybody()
		}
		w.request(from)
		w.waitSettled(from)
		w.authoritative(from)
		if n := w.pass(); n != 0 {
			t.Errorf("cancelled after %d passes: an idle pass wrote %d times", passes, n)
		}
	}
}

func TestWaits(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.merge(w.mapi(), "status", map[string]any{"status": map[string]any{"conditions": with(w.of(w.mapi()),
		condition(authority.ConditionSynchronized, "False", "Error", "Unconvertible", "spec.providerSpec.value.deviceIndex: no"))}})
	w.acknowledged()
	w.request(authority.ClusterAPI)
	w.pass()
	if got := w.reason(); got != authority.ReasonNotSynchronized {
		t.Fatalf("reason %s", got)
	}
	w.waitIsReported(authority.ReasonNotSynchronized, "deviceIndex")
	value := w.shape().Condition(authority.ConditionSettled)
	for _, part := range []string{"deviceIndex", "To cancel, set spec.authoritativeAPI to MachineAPI.", "Since 20"} {
		if !strings.Contains(value.Message, part) {
			t.Errorf("the message does not say %q: %s", part, value.Message)
		}
	}
	if n := w.pass(); n != 0 {
		t.Errorf("waiting wrote %d times", n)
	}
	if got := w.shape().Current; got != authority.MachineAPI {
		t.Errorf("status moved to %s", got)
	}
	w.waitSettled(authority.ClusterAPI) // the mirror can run again
	if now := w.waiting(); len(now) > 0 {
		t.Errorf("the metric says that it waits: %v", now)
	}
}

// TestAMoveComparesHooks: Cluster API's hooks are annotations, which move no generation, so that Synchronized may be True of a mirror without them.
func TestAMoveComparesHooks(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, "Machine")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	inMachineAPI := func(hooks ...string) {
		var list []any
		for _, hook := range hooks {
			list = append(list, map[string]any{"name": hook, "owner": authority.EtcdHookOwner})
		}
		w.merge(w.mapi(), "", map[string]any{"spec": map[string]any{"lifecycleHooks": map[string]any{"preDrain": list}}})
	}
	inClusterAPI := func(hook string) {
		w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			clusterv1.PreDrainDeleteHookAnnotationPrefix + "/" + hook: authority.EtcdHookOwner}}})
	}
	waits := func(from authority.API) {
		t.Helper()
		w.request(from.Other())
		for range 10 {
			w.everybody()
			w.pass()
		}
		if got := w.reason(); w.shape().Current == from.Other() || got != authority.ReasonCatchingUp {
			t.Fatalf("without the hook on the other side: authority %s, reason %s", w.shape().Current, got)
		}
	}
	inMachineAPI(authority.EtcdHookName)
	waits(authority.MachineAPI)
	inClusterAPI(authority.EtcdHookName)
	w.waitSettled(authority.ClusterAPI)

	inClusterAPI("another-hook")
	waits(authority.ClusterAPI)
	inMachineAPI(authority.EtcdHookName, "another-hook")
	w.waitSettled(authority.MachineAPI)
}

// TestAFailedMachine: its phase never changes, and it never was provisioned, so the wait has no end but what the message names.
func TestAFailedMachine(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.merge(w.mapi(), "status", map[string]any{"status": map[string]any{"phase": "Failed"}})
	w.merge(w.provider(), "status", map[string]any{"status": map[string]any{"ready": nil}}) // as the mirror has it of what never came up
	w.request(authority.ClusterAPI)
	for range 3 {
		w.mirrorRuns()
		w.pass()
	}
	value := w.shape().Condition(authority.ConditionSettled)
	if value.Reason != authority.ReasonNotProvisioned || !strings.Contains(value.Message, "which never changes. Delete the Machine") ||
		strings.Contains(value.Message, "past Provisioning") {
		t.Errorf("%s: %s", value.Reason, value.Message)
	}
}

// waitIsReported wants the condition, the event and the metric to say the same: what for, and since when.
func (w *world) waitIsReported(reason, words string) {
	w.Helper()
	since := w.shape().Condition(authority.ConditionSettled).LastTransitionTime
	if heard := w.acknowledged(); strings.Count(heard, "Warning "+reason) != 1 || !strings.Contains(heard, words) ||
		!strings.Contains(heard, "Since "+since.UTC().Format(time.RFC3339)) {
		w.Errorf("events:\n%s", heard)
	}
	if now := w.waiting(); len(now) != 1 || now[reason] != float64(since.Unix()) {
		w.Errorf("the metric says %v, want %s since %d", now, reason, since.Unix())
	}
}

// waiting is what the metric says of the world's object: for what, and since when.
func (w *world) waiting() map[string]float64 {
	w.Helper()
	out := map[string]float64{}
	w.series("poundlock_handoff_waiting_since_timestamp_seconds", func(labels map[string]string, value float64) {
		if labels["kind"] == w.kind.Name && labels["namespace"] == w.pair.MachineAPI && labels["name"] == name {
			out[labels["reason"]] = value
		}
	})
	return out
}

// refusing is an API server that lets one kind be written to by nobody, as one that cannot reach that kind's webhook.
type refusing struct {
	client.Client
	kind schema.GroupVersionKind
}

func (r refusing) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	if o.GetObjectKind().GroupVersionKind() == r.kind {
		return apierrors.NewInternalError(errors.New("failed calling webhook: connection refused"))
	}
	return r.Client.Patch(ctx, o, patch, options...)
}

// TestAStepThatFails: the failure is reported where a person looks, and removed when the step succeeds.
func TestAStepThatFails(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)
	w.acknowledged()
	w.request(authority.MachineAPI)
	able := w.r.writer
	w.r.writer = refusing{able, w.kind.ClusterAPIGVK()}
	for range 3 {
		w.everybody()
		_, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf(w)})
		if failed := w.reason() == reasonStepFailed; failed != (err != nil) {
			t.Errorf("the condition's reason is %s, and the pass returns %v: nothing would try again", w.reason(), err)
		}
	}
	value := w.shape().Condition(authority.ConditionSettled)
	if value.Status != "False" || value.Reason != reasonStepFailed || !strings.Contains(value.Message, "connection refused") {
		t.Errorf("the condition says %+v", value)
	}
	if heard := w.acknowledged(); strings.Count(heard, "Warning "+reasonStepFailed) != 1 {
		t.Errorf("events:\n%s", heard)
	}
	w.r.writer = able
	w.waitSettled(authority.MachineAPI)
}

// TestStaleDecision has somebody else write between what the handoff reads and what it writes.
func TestStaleDecision(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.request(authority.ClusterAPI)
	w.everybody()
	p, err := w.r.gather(t.Context(), w.r.live, keyOf(w))
	if err != nil {
		t.Fatal(err)
	}
	step := authority.Next(p.state())
	if step.Action != authority.Acknowledge {
		t.Fatalf("the step is %+v", step)
	}
	w.request(authority.MachineAPI)
	_, err = w.r.apply(t.Context(), p, step)
	if got, quiet := result(err); err == nil || quiet != nil || got.RequeueAfter == 0 {
		t.Errorf("a step decided on what is no longer so: %v, %v", err, got)
	}
	if got := w.shape(); got.Current != authority.MachineAPI || got.Condition(authority.ConditionSettled).Status != "True" {
		t.Errorf("the condition flapped: %+v", got)
	}
}

func TestDisabled(t *testing.T) {
	w := newWorld(t, "Machine")
	w.r.enabled = func(authority.Kind) bool { return false }
	w.machineAPI(authority.ClusterAPI)
	if n := w.pass(); n != 0 || w.shape().Current != "" {
		t.Errorf("with the gate off: %d writes, status %q", n, w.shape().Current)
	}
}

// TestDeletedOnItsWay deletes the machine in transit: authority goes back to those who can end its instance.
func TestDeletedOnItsWay(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.request(authority.ClusterAPI)
	for w.shape().Current != authority.Migrating {
		w.mirrorRuns()
		w.pass()
	}
	if err := w.Delete(t.Context(), w.of(w.mapi())); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.pass()
	}
	if s := w.shape(); s.Current != authority.MachineAPI || w.reason() != authority.ReasonDeleting {
		t.Errorf("status %s, reason %s", s.Current, w.reason())
	}
	if n := w.pass(); n != 0 {
		t.Errorf("waiting for the deletion wrote %d times", n)
	}
}

// TestDeletedUnderClusterAPI deletes the Machine of the authoritative Cluster API, which a foreign finalizer holds longer than the provider's machine exists.
func TestDeletedUnderClusterAPI(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)
	w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"finalizers": []any{"example.com/hold"}}})
	if err := w.Delete(t.Context(), w.of(w.core())); err != nil {
		t.Fatal(err)
	}
	w.vanish(w.provider())
	w.pass()
	value := w.shape().Condition(authority.ConditionSettled)
	if value.Reason != authority.ReasonDeleting || !strings.Contains(value.Message, "is being deleted, and has the finalizers example.com/hold.") {
		t.Errorf("%s: %s", value.Reason, value.Message)
	}
	if n := w.pass(); n != 0 {
		t.Errorf("waiting for the deletion wrote %d times", n)
	}
}

// The deletion of a namespace is no request about the Machines in it. Authority does not go where its objects are about to be deleted, whatever was asked for
// before.
func TestTheNamespaceOfTheOtherAPIIsDeleted(t *testing.T) {
	stories.Long(t)
	for _, from := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		for _, underWay := range []bool{false, true} {
			t.Run(fmt.Sprintf("from %s, under way %t", from, underWay), func(t *testing.T) { namespaceGoes(t, from, underWay, false) })
		}
	}
	t.Run("from MachineAPI, under way, and the twin has gone with it", func(t *testing.T) { namespaceGoes(t, authority.MachineAPI, true, true) })
}

func namespaceGoes(t *testing.T, from authority.API, underWay, emptied bool) {
	w := newWorld(t, "Machine")
	w.machineAPI(from)
	w.waitSettled(from)
	w.request(from.Other())
	for underWay && w.shape().Current != authority.Migrating {
		w.everybody()
		w.pass()
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: map[authority.API]string{authority.MachineAPI: w.pair.MachineAPI,
		authority.ClusterAPI: w.pair.ClusterAPI}[from.Other()]}}
	if err := w.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		if emptied {
			w.vanish(w.core())
			w.vanish(w.provider())
			w.controllersAnswer()
		} else {
			w.everybody()
		}
		w.pass()
		if s := w.shape(); s.Current == from.Other() {
			t.Fatalf("authority has moved to %s, whose objects are about to be deleted", s.Current)
		}
	}
	if emptied {
		if s := w.shape(); s.Current != from {
			t.Errorf("status %s, reason %s", s.Current, w.reason())
		}
		return
	}
	if s := w.shape(); s.Current != from || w.reason() != authority.ReasonSurroundings {
		t.Errorf("status %s, reason %s", s.Current, w.reason())
	}
	w.waitIsReported(authority.ReasonSurroundings, "Namespace "+namespace.Name+" is being deleted.")
	if n := w.pass(); n != 0 {
		t.Errorf("waiting wrote %d times", n)
	}
}

// vanish deletes an object, whatever holds it.
func (w *world) vanish(o ref) {
	w.Helper()
	u := w.of(o)
	if u == nil {
		return
	}
	w.merge(o, "", map[string]any{"metadata": map[string]any{"finalizers": nil}})
	if err := w.Delete(w.Context(), u); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
}

const bare = `
metadata: {name: barechecks.machine.openshift.io}
spec:
  group: machine.openshift.io
  names: {kind: BareCheck, plural: barechecks}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {selector: {type: string}}}
          status: {type: object, properties: {expectedMachines: {type: integer}}}
`

func (w *world) install(manifest string) {
	w.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(manifest), crd); err != nil {
		w.Fatal(err)
	}
	if err := plane.InstallCRDs(w.Context(), crd); err != nil {
		w.Fatal(err)
	}
}

// TestAStranger: a Cluster API object that Poundlock did not make, and that acts, is neither paused nor waited for, whatever is asked of the Machine API's.
func TestAStranger(t *testing.T) {
	kinds(t, func(w *world) {
		w.machineAPI(authority.MachineAPI)
		w.stranger()
		w.answer(w.core(), true, w.kind.ClusterAPIFinalizer, true)
		before := w.of(w.core()).GetResourceVersion()
		for range 3 {
			w.look()
			w.answer(w.mapi(), true, w.kind.MachineAPIFinalizer, true)
		}
		if got := w.reason(); got != "" {
			w.Errorf("before the mirror has looked, and nobody has asked for a move: reason %s", got)
		}
		w.request(authority.ClusterAPI)
		for range 3 {
			w.look()
		}
		if s := w.shape(); s.Current != authority.MachineAPI || w.reason() != authority.ReasonTwinMissing {
			w.Errorf("status %s, reason %s", s.Current, w.reason())
		}
		if after := w.of(w.core()).GetResourceVersion(); w.pausedSince(w.core()) || after != before {
			w.Error("it was written to")
		}
	})
}

// stranger makes a Cluster API object as its user would.
func (w *world) stranger() {
	w.Helper()
	ref := fmt.Sprintf("clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: %s, kind: %s, name: theirs}", infraGroup, w.infra.Kind)
	w.create(fmt.Sprintf("{apiVersion: cluster.x-k8s.io/v1beta2, kind: %s, metadata: {name: %s, namespace: %s}, spec: {%s}}",
		w.kind.Name, name, w.pair.ClusterAPI, map[string]string{
			"Machine":            ref,
			"MachineSet":         "clusterName: c, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {" + ref + "}}",
			"MachineHealthCheck": "clusterName: c, selector: {matchLabels: {a: b}}",
		}[w.kind.Name]))
}
