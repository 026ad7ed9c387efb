// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// onVSphere is a world whose provider keeps a VSphereVM for each instance, with a controller of its own.
func onVSphere(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "Machine")
	w.infra = schema.GroupVersionKind{Group: infraGroup, Version: "v1beta1", Kind: "VSphereMachine"}
	return w
}

func (w *world) instance() ref {
	if w.infra.Kind != "VSphereMachine" {
		return ref{}
	}
	return ref{w.infra.GroupVersion().WithKind("VSphereVM"), w.pair.ClusterAPI}
}

// instanceAnswers are the provider's two controllers, as far as the object for the instance goes: one makes it while it acts, the other holds it and answers.
func (w *world) instanceAnswers() {
	w.Helper()
	if w.infra.Kind != "VSphereMachine" || w.of(w.provider()) == nil {
		return
	}
	if !w.pausedSince(w.provider()) && w.of(w.instance()) == nil {
		w.makesInstance()
	}
	if w.of(w.instance()) != nil {
		w.answer(w.instance(), !w.pausedSince(w.instance()), "vspherevm."+infraGroup, true)
		w.madeNow = false
	}
}

func (w *world) makesInstance() {
	w.Helper()
	w.create(fmt.Sprintf(
		"{apiVersion: %s, kind: VSphereVM, metadata: {name: %s, namespace: %s, ownerReferences: [{apiVersion: %[1]s, kind: VSphereMachine, name: %[2]s, uid: %[4]s}]}, spec: {template: rhcos, network: {devices: [{networkName: net}]}}}",
		w.infra.GroupVersion(), name, w.pair.ClusterAPI, w.of(w.provider()).GetUID()))
}

// pauseOf puts the pause of an object on or takes it off, as if Poundlock had ended half-way.
func (w *world) pauseOf(o ref, on bool) {
	w.Helper()
	var value any
	if on {
		value = "true"
	}
	w.merge(o, "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.PausedAnnotation: value}}})
}

// What a provider keeps for an instance is paused, awaited and released with its machine.
func TestAnInstanceIsPausedWithItsMachine(t *testing.T) {
	w := onVSphere(t)
	w.machineAPI(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)
	for range 2 {
		for _, to := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
			w.request(to)
			w.waitSettled(to)
			w.authoritative(to)
			if paused := w.pausedSince(w.instance()); paused != (to == authority.MachineAPI) {
				t.Errorf("%s is authoritative, the VSphereVM paused: %t", to, paused)
			}
			if n := w.pass(); n != 0 {
				t.Errorf("an idle pass wrote %d times", n)
			}
		}
	}
}

// The provider's machine controller makes the object in the very pass in which it is paused: Machine API does not take over before that object is paused, too.
func TestAnInstanceThatIsMadeWhileItsMachineIsPaused(t *testing.T) {
	w := onVSphere(t)
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.makesInstance() // the last write of a pass that was under way
	w.madeNow = true
	w.look()
	if !w.pausedSince(w.instance()) {
		t.Fatal("the VSphereVM is not paused")
	}
	w.request(authority.ClusterAPI)
	w.mirrorRuns()
	w.look()
	if s := w.shape(); s.Current != authority.MachineAPI || w.reason() != authority.ReasonNotPaused {
		t.Errorf("status %s, reason %s: the VSphereVM has not acknowledged its pause", s.Current, w.reason())
	}
	w.waitSettled(authority.ClusterAPI)
	w.authoritative(authority.ClusterAPI)
}

// Poundlock ends between the two writes of a pause, or of a release: the next pass does the other.
func TestAPauseAndAReleaseThatEndHalfWay(t *testing.T) {
	for _, half := range []string{"machine", "instance"} {
		w := onVSphere(t)
		w.machineAPI(authority.ClusterAPI)
		w.waitSettled(authority.ClusterAPI)
		one := map[string]ref{"machine": w.provider(), "instance": w.instance()}[half]
		w.pauseOf(one, true)
		w.waitSettled(authority.ClusterAPI)
		w.authoritative(authority.ClusterAPI)
		if w.pausedSince(w.instance()) {
			t.Errorf("%s: the VSphereVM stays paused", half)
		}
		w.request(authority.MachineAPI)
		w.waitSettled(authority.MachineAPI)
		w.pauseOf(one, false)
		w.look()
		w.waitSettled(authority.MachineAPI)
		w.authoritative(authority.MachineAPI)
		if !w.pausedSince(w.instance()) {
			t.Errorf("%s: the VSphereVM stays unpaused", half)
		}
	}
}

// TestAnInstanceThatIsKeptForAnotherToo: an object that names the instance of a Machine and is not that Machine's keeps it from moving, either way, until it is
// gone.
func TestAnInstanceThatIsKeptForAnotherToo(t *testing.T) {
	stories.Long(t)
	for _, from := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		w := onVSphere(t)
		w.machineAPI(authority.ClusterAPI)
		w.waitSettled(authority.ClusterAPI)
		w.request(from)
		w.waitSettled(from)
		id := w.of(w.mapi()).Object["spec"].(map[string]any)["providerID"].(string)
		w.create(fmt.Sprintf("{apiVersion: %s, kind: VSphereVM, metadata: {name: f2, namespace: %s}, spec: {biosUUID: %q, template: rhcos, network: {devices: [{networkName: net}]}}}",
			w.infra.GroupVersion(), w.pair.ClusterAPI, strings.ToUpper(id[strings.LastIndex(id, "/")+1:])))
		w.request(from.Other())
		for range 6 {
			w.everybody()
			w.pass()
		}
		c := w.shape().Condition(authority.ConditionSettled)
		if w.shape().Current != from || c.Reason != authority.ReasonInstanceShared || !strings.Contains(c.Message, "also belongs to VSphereVM f2.") ||
			!strings.Contains(c.Message, "annotate vspherevm."+infraGroup+" f2 cluster.x-k8s.io/paused=") {
			t.Fatalf("status %s, %s: %s", w.shape().Current, c.Reason, c.Message)
		}
		if n := w.pass(); n != 0 {
			t.Errorf("waiting wrote %d times", n)
		}
		f2 := &unstructured.Unstructured{}
		f2.SetGroupVersionKind(w.instance().GroupVersionKind)
		f2.SetNamespace(w.pair.ClusterAPI)
		f2.SetName("f2")
		if err := w.Delete(w.Context(), f2); err != nil {
			t.Fatal(err)
		}
		w.waitSettled(from.Other())
		w.authoritative(from.Other())
	}
}

// TestWhatIsKeptForAnotherInstanceIsNamed: no ID that a person could write ends the wait, and no decision that there is no instance.
func TestWhatIsKeptForAnotherInstanceIsNamed(t *testing.T) {
	read := func(text string) (*unstructured.Unstructured, *policies.Object) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		parsed, err := parse(o)
		if err != nil {
			t.Fatal(err)
		}
		return o, parsed
	}
	kind, _ := authority.KindNamed("Machine")
	p := &pair{kind: kind}
	p.machineAPI, p.objects.MachineAPI = read(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: mapi}, spec: {providerID: "vsphere://42-a"}, status: {authoritativeAPI: MachineAPI}}`)
	p.infraInstance, p.objects.InfraInstance = read(`{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereVM, metadata: {name: m, namespace: capi}, spec: {biosUUID: 42-b}}`)
	step := authority.Step{Action: authority.Wait, Reason: authority.ReasonInstanceUnknown}
	if got := p.decision(step, "2026-01-01T00:00:00Z"); !strings.HasSuffix(got, "kubectl -n capi delete vspherevm.infrastructure.cluster.x-k8s.io m") || strings.Contains(got, "no-instance") {
		t.Errorf("the way out: %s", got)
	}
	if got := p.waitsFor(step, p.infraInstance, time.Time{}); !strings.HasSuffix(got, `is "vsphere://42-b".`) || strings.Contains(got, "providerID") {
		t.Errorf("what is waited for: %s", got)
	}
}
