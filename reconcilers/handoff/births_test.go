// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

func eitherWay(t *testing.T, story func(*world, authority.API)) {
	for _, from := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		t.Run(fmt.Sprintf("from %s", from), func(t *testing.T) { story(newWorld(t, "Machine"), from) })
	}
}

// born makes a Machine whose controllers have asked for an instance, and have not stored its ID.
func (w *world) born(from authority.API) {
	w.Helper()
	w.silent = true
	w.machineAPI(from)
	w.waitSettled(from)
}

// waits lets everybody have their turns, and expects the move to wait for the instance.
func (w *world) waits(status authority.API) {
	w.Helper()
	for range 6 {
		w.everybody()
		w.pass()
	}
	if s := w.shape(); s.Current != status || w.reason() != authority.ReasonInstanceUnknown {
		w.Fatalf("status %s, reason %s: %s", s.Current, w.reason(), s.Condition(authority.ConditionSettled).Message)
	}
	if n := w.pass(); n != 0 {
		w.Errorf("waiting wrote %d times", n)
	}
}

// TestABirth asks for a move while the instance's ID is not stored yet: it waits, and goes on with the ID.
func TestABirth(t *testing.T) {
	eitherWay(t, func(w *world, from authority.API) {
		w.born(from)
		w.request(from.Other())
		w.waits(from)
		w.silent = false
		w.waitSettled(from.Other())
		w.authoritative(from.Other())
	})
}

// TestAnotherReleaseBegins has a Poundlock begin that has not compared a pair yet, which another release has left synchronized: no move begins or ends until
// it has.
func TestAnotherReleaseBegins(t *testing.T) {
	stories.Long(t)
	eitherWay(t, func(w *world, from authority.API) {
		w.machineAPI(from)
		w.waitSettled(from)
		w.request(from.Other())
		for _, status := range []authority.API{from, authority.Migrating} {
			w.starting = true
			for range 6 {
				w.everybody()
				w.pass()
			}
			if s := w.shape(); s.Current != status || w.reason() != authority.ReasonCatchingUp {
				w.Fatalf("status %s, reason %s: %s", s.Current, w.reason(), s.Condition(authority.ConditionSettled).Message)
			}
			again, err := w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.pair.MachineAPI, Name: name}})
			if err != nil || again.RequeueAfter > afterStart {
				w.Errorf("what the mirror compares without a write is seen after %v: %v", again.RequeueAfter, err)
			}
			w.starting = false
			w.pass()
		}
		w.waitSettled(from.Other())
		w.authoritative(from.Other())
	})
}

// decide has a person write the command that the message ends with.
func (w *world) decide() {
	w.Helper()
	command := regexp.MustCompile(`annotate --overwrite machines.machine.openshift.io one (\S+)=(\S+)$`)
	message := w.shape().Condition(authority.ConditionSettled).Message
	found := command.FindStringSubmatch(message)
	if found == nil {
		w.Fatalf("no command ends the message: %s", message)
	}
	w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{found[1]: found[2]}}})
}

// TestADecision has a person answer that there is no instance: once before the source pauses, and once more after.
func TestADecision(t *testing.T) {
	stories.Long(t)
	eitherWay(t, func(w *world, from authority.API) {
		w.born(from)
		w.request(from.Other())
		w.waits(from)
		w.decide()
		w.waits(authority.Migrating)
		w.request(from) // the move is cancelled, and asked for again: the decision does not count for that
		w.waitSettled(from)
		w.r.now = func() time.Time { return time.Now().Add(2 * time.Second) } // conditions have whole seconds, and nobody asks again within one
		w.request(from.Other())
		w.waits(from)
		w.decide()
		w.waits(authority.Migrating)
		w.decide()
		w.waitSettled(from.Other())
		w.authoritative(from.Other())
	})
}

// TestADecisionIsSeen: once a person has decided, no event follows where the mirror has nothing to write, so the pair is looked at again within a second.
func TestADecisionIsSeen(t *testing.T) {
	w := newWorld(t, "Machine")
	w.born(authority.MachineAPI)
	w.request(authority.ClusterAPI)
	w.waits(authority.MachineAPI)
	w.decide()
	w.starting = true // the mirror has not compared the Machine since
	again, err := w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.pair.MachineAPI, Name: name}})
	if err != nil || w.reason() != authority.ReasonInstanceUnknown || again.RequeueAfter == 0 || again.RequeueAfter > afterStart {
		t.Errorf("reason %s, again after %s, %v", w.reason(), again.RequeueAfter, err)
	}
}

// TestADecisionDuringACall has a person confirm that there is no instance while a provider that reports no pause may be creating it: the second question is asked
// once such a call has ended. It either stores an ID late, or has created nothing.
func TestADecisionDuringACall(t *testing.T) {
	stories.Long(t)
	for sentence, late := range map[string]bool{"it creates the instance": true, "it creates none": false} {
		t.Run(sentence, func(t *testing.T) {
			w, clock := newWorld(t, "Machine"), time.Duration(0)
			w.infra = schema.GroupVersionKind{Group: infraGroup, Version: "v1beta1", Kind: "GCPMachine"}
			w.r.now = func() time.Time { return time.Now().Add(clock) }
			w.silent = true
			w.machineAPI(authority.ClusterAPI)
			w.acknowledgeLater(authority.ClusterAPI, &clock)
			w.request(authority.MachineAPI)
			w.waits(authority.ClusterAPI)
			w.decide()
			for _, passed := range []time.Duration{0, time.Minute, creationEndsAfter - 2*time.Minute} {
				clock += passed
				for range 6 {
					w.everybody()
					w.pass()
				}
				if s := w.shape(); s.Current != authority.Migrating || w.reason() != authority.ReasonNotPaused {
					t.Fatalf("after %s: status %s, reason %s: %s", clock, s.Current, w.reason(), s.Condition(authority.ConditionSettled).Message)
				}
			}
			if late {
				w.merge(w.provider(), "", map[string]any{"spec": map[string]any{"providerID": "gce://p/z/late", "instanceType": "n2"}})
			} else {
				clock += 2 * time.Minute
				w.waits(authority.Migrating)
				w.decide()
			}
			w.acknowledgeLater(authority.MachineAPI, &clock)
			w.authoritative(authority.MachineAPI)
			if id, _, _ := unstructured.NestedString(w.of(w.mapi()).Object, "spec", "providerID"); late != (id == "gce://p/z/late") {
				t.Errorf("spec.providerID %q", id)
			}
		})
	}
}

// TestAFailureStaysBehind moves a Machine that has failed, after a person has confirmed that it has no instance. Cluster API is about to create one: a check,
// which deletes a Machine that has failed, finds none at any moment.
func TestAFailureStaysBehind(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, "Machine")
	w.born(authority.MachineAPI)
	w.request(authority.ClusterAPI)
	w.waits(authority.MachineAPI)
	failure := map[string]any{"failureReason": "InvalidConfiguration", "failureMessage": "no quota"}
	w.merge(w.core(), "status", map[string]any{"status": map[string]any{"phase": "Failed", "lastUpdated": now(), "deprecated": map[string]any{"v1beta1": failure}}})
	w.decide()
	for range 6 {
		w.everybody()
		w.pass()
	}
	if s := w.shape(); s.Current != authority.Migrating || w.reason() != authority.ReasonCatchingUp {
		w.Fatalf("status %s, reason %s: %s", s.Current, w.reason(), s.Condition(authority.ConditionSettled).Message)
	}
	w.merge(w.core(), "status", map[string]any{"status": map[string]any{"phase": "Pending", "lastUpdated": nil, "deprecated": nil}})
	w.waits(authority.Migrating)
	w.merge(w.mapi(), "status", map[string]any{"status": map[string]any{"phase": "Failed", "lastUpdated": now(),
		"errorReason": "InvalidConfiguration", "errorMessage": "no quota"}})
	w.decide()
	for range 12 {
		w.pass()
		if w.shape().Current == authority.ClusterAPI {
			break
		}
	}
	status, _, _ := unstructured.NestedMap(w.of(w.mapi()).Object, "status")
	if status["authoritativeAPI"] != "ClusterAPI" {
		w.Fatalf("status %v", status)
	}
	for _, name := range []string{"phase", "lastUpdated", "errorReason", "errorMessage"} {
		if status[name] != nil {
			w.Errorf("the switch has left %s: %v", name, status[name])
		}
	}
	w.waitSettled(authority.ClusterAPI)
	w.authoritative(authority.ClusterAPI)
}

// TestUntouched moves a Machine that Poundlock adopted before anybody could ask for an instance.
func TestUntouched(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.MachineAPI)
	w.pass()
	if got := w.of(w.mapi()); got.GetAnnotations()[authority.UntouchedAnnotation] != string(got.GetUID()) {
		t.Fatalf("annotations %v", got.GetAnnotations())
	}
	w.request(authority.ClusterAPI)
	for range 12 {
		paused := "True" // its controllers answer, and do nothing else
		if w.shape().Current == authority.MachineAPI {
			paused = "False"
		}
		w.merge(w.mapi(), "status", map[string]any{"status": map[string]any{
			"conditions": with(w.of(w.mapi()), condition(authority.ConditionPaused, metav1.ConditionStatus(paused), "", "Test", "because"))}})
		w.mirrorRuns()
		w.answer(w.core(), !w.pausedSince(w.core()), w.kind.ClusterAPIFinalizer, true)
		w.answer(w.provider(), !w.pausedSince(w.provider()), "", false)
		w.pass()
	}
	if s := w.shape(); s.Current != authority.ClusterAPI {
		t.Fatalf("status %s: %s", s.Current, s.Condition(authority.ConditionSettled).Message)
	}
	w.waitSettled(authority.ClusterAPI)
	w.authoritative(authority.ClusterAPI)
	w.everybody()
	w.pass()
	if recorded, is := w.of(w.mapi()).GetAnnotations()[authority.UntouchedAnnotation]; is {
		t.Errorf("the record stays although there is an instance: %s", recorded)
	}
}

// TestHeldAtAdoption: of what its controllers held when Poundlock adopted it nothing is recorded.
func TestHeldAtAdoption(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.MachineAPI)
	w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"finalizers": []string{authority.MachineAPIMachineFinalizer}}})
	w.pass()
	if got := w.of(w.mapi()).GetAnnotations(); strings.Contains(fmt.Sprint(got), authority.UntouchedAnnotation) {
		t.Errorf("annotations %v", got)
	}
}

// TestAnInstanceOfTwo asks for a move while another Machine has the same ID: it waits, before the source pauses and after, until one of the two is corrected.
func TestAnInstanceOfTwo(t *testing.T) {
	stories.Long(t)
	eitherWay(t, func(w *world, from authority.API) {
		w.machineAPI(from)
		w.waitSettled(from)
		id, _, _ := unstructured.NestedString(w.of(w.mapi()).Object, "spec", "providerID")
		if id == "" {
			w.Fatal("no ID")
		}
		w.create(fmt.Sprintf(
			`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"two","namespace":%q},"spec":{"authoritativeAPI":"MachineAPI","providerID":%q}}`,
			w.pair.MachineAPI, strings.ToUpper(id)))
		correct := func(id string) {
			w.Helper()
			two := &unstructured.Unstructured{}
			two.SetGroupVersionKind(w.kind.MachineAPIGVK())
			two.SetName("two")
			two.SetNamespace(w.pair.MachineAPI)
			if err := w.Patch(w.Context(), two, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"providerID":%q}}`, id))); err != nil {
				w.Fatal(err)
			}
		}
		w.request(from.Other())
		for range 6 {
			w.everybody()
			w.pass()
		}
		c := w.shape().Condition(authority.ConditionSettled)
		if w.shape().Current != from || c.Reason != authority.ReasonInstanceShared || !strings.Contains(c.Message, "Machine two.") {
			w.Fatalf("status %s, %s: %s", w.shape().Current, c.Reason, c.Message)
		}
		if n := w.pass(); n != 0 {
			w.Errorf("waiting wrote %d times", n)
		}
		correct("aws:///us-east-1a/i-two")
		w.pass()
		if w.shape().Current != authority.Migrating {
			w.Fatalf("status %s: %s", w.shape().Current, w.shape().Condition(authority.ConditionSettled).Message)
		}
		correct(id)
		for range 12 {
			w.everybody()
			w.pass()
		}
		if s := w.shape(); s.Current != authority.Migrating || w.reason() != authority.ReasonInstanceShared {
			w.Fatalf("status %s, %s: %s", s.Current, w.reason(), s.Condition(authority.ConditionSettled).Message)
		}
		correct("aws:///us-east-1a/i-two")
		w.waitSettled(from.Other())
		w.authoritative(from.Other())
	})
}
