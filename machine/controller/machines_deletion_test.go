// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/stories"
)

func TestHooksHoldTheDeletionInTheirOrder(t *testing.T) {
	s := newScene(t)
	node := s.running("one")
	s.pod("app", node, nil)
	s.edit("one", func(m *machinev1beta1.Machine) {
		m.Spec.LifecycleHooks = machinev1beta1.LifecycleHooks{
			PreDrain:     []machinev1beta1.LifecycleHook{{Name: "MigrateApp", Owner: "the-app"}},
			PreTerminate: []machinev1beta1.LifecycleHook{{Name: "KeepLogs", Owner: "the-logs"}},
		}
	})
	s.deleting("one")
	s.until("one", "held by the pre-drain hook", func(*machinev1beta1.Machine) bool {
		c := s.condition("one", machinev1beta1.MachineDrainable)
		return c.Status == corev1.ConditionFalse && c.Reason == machinev1beta1.MachineHookPresent &&
			strings.Contains(c.Message, "MigrateApp") && strings.Contains(c.Message, "the-app")
	})
	if !s.heard(machinev1beta1.MachineHookPresent) {
		t.Error("no event says so")
	}
	s.rests("one")
	if s.getNode(node).Spec.Unschedulable || !s.runs("app") {
		t.Error("the Node is drained before the pre-drain hook is gone")
	}
	s.edit("one", func(m *machinev1beta1.Machine) { m.Spec.LifecycleHooks.PreDrain = nil })
	s.until("one", "held by the pre-terminate hook", func(*machinev1beta1.Machine) bool {
		c := s.condition("one", machinev1beta1.MachineTerminable)
		return s.condition("one", machinev1beta1.MachineDrained).Status == corev1.ConditionTrue &&
			c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "KeepLogs")
	})
	s.rests("one")
	if s.runs("app") || !s.getNode(node).Spec.Unschedulable || s.calls(machinetest.Terminate) != 0 {
		t.Errorf("before the pre-terminate hook is gone: app runs: %t, %d calls to terminate", s.runs("app"), s.calls(machinetest.Terminate))
	}
	s.edit("one", func(m *machinev1beta1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil })
	s.gone("one")
}

// A Machine whose instance never became a Node has nothing to drain, and so nothing that a pre-drain hook could protect.
func TestAPreDrainHookHoldsNoMachineWithoutANode(t *testing.T) {
	s := newScene(t)
	s.machine("one")
	s.phase("one", machinev1beta1.PhaseProvisioned)
	s.edit("one", func(m *machinev1beta1.Machine) {
		m.Spec.LifecycleHooks.PreDrain = []machinev1beta1.LifecycleHook{{Name: "MigrateApp", Owner: "the-app"}}
	})
	s.deleting("one")
	s.gone("one")
}

// rests makes some passes and sees that they write nothing.
func (s *scene) rests(name string) {
	s.Helper()
	_, _ = s.pass(name)
	writes := s.writes.Load()
	for range 3 {
		_, _ = s.pass(name)
	}
	if n := s.writes.Load() - writes; n != 0 {
		s.Errorf("passes that wait wrote %d times: %s", n, s.told(name))
	}
}

func (s *scene) runs(pod string) bool {
	s.Helper()
	err := s.Get(s.Context(), s.key(pod), &corev1.Pod{})
	if client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	return err == nil
}

func TestDisruptionBudgetHoldsTheDrain(t *testing.T) {
	s := newScene(t)
	node := s.running("one")
	labels := map[string]string{"app": "held"}
	s.pod("held", node, labels)
	s.pod("free", node, nil)
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "keep-one", Namespace: s.namespace},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	if err := s.Create(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	s.deleting("one")
	s.until("one", "held by the budget", func(*machinev1beta1.Machine) bool {
		c := s.condition("one", machinev1beta1.MachineDrained)
		return c.Status == corev1.ConditionFalse && c.Reason == machinev1beta1.MachineDrainError &&
			strings.Contains(c.Message, s.namespace+"/held") && strings.Contains(c.Message, "keep-one") && !strings.Contains(c.Message, "free")
	})
	s.unchanged("one")
	if s.runs("free") || !s.runs("held") || s.calls(machinetest.Terminate) != 0 {
		t.Errorf("free runs: %t, held runs: %t", s.runs("free"), s.runs("held"))
	}
	if err := s.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	s.gone("one")
	if s.runs("held") {
		t.Error("the pod is still there")
	}
}

// unchanged sees that a drain that is held writes neither to the Machine nor to the Node; it does ask for evictions.
func (s *scene) unchanged(name string) {
	s.Helper()
	before := s.get(name)
	node := s.getNode(before.Status.NodeRef.Name)
	for range 3 {
		_, _ = s.pass(name)
	}
	if s.get(name).ResourceVersion != before.ResourceVersion || s.getNode(node.Name).ResourceVersion != node.ResourceVersion {
		s.Error("passes of a drain that is held changed the Machine or its Node")
	}
}

func controlPlane(n *corev1.Node) {
	n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
}

func TestControlPlaneDrainsOneAtATime(t *testing.T) {
	stories.Long(t)
	s := newScene(t)
	nodes := map[string]string{"one": s.running("one", controlPlane), "two": s.running("two", controlPlane), "worker": s.running("worker")}
	for name, node := range nodes {
		s.edit(name, func(m *machinev1beta1.Machine) {
			m.Spec.LifecycleHooks.PreTerminate = []machinev1beta1.LifecycleHook{{Name: "Hold", Owner: "the-test"}}
		})
		s.pod("on-"+name, node, nil)
	}
	for name := range nodes {
		s.deleting(name)
	}
	drained := func(name string) bool {
		return s.condition(name, machinev1beta1.MachineDrained).Status == corev1.ConditionTrue
	}
	s.until("one", "drained", func(*machinev1beta1.Machine) bool { return drained("one") })
	waits := func() {
		t.Helper()
		s.until("two", "waits for one", func(*machinev1beta1.Machine) bool {
			c := s.condition("two", machinev1beta1.MachineDrained)
			return c.Reason == machine.ReasonControlPlane && strings.Contains(c.Message, "Machine one")
		})
		s.rests("two")
		if !s.runs("on-two") || s.getNode(nodes["two"]).Spec.Unschedulable {
			t.Error("two is drained while the Node of one is still there")
		}
	}
	waits()
	s.replace() // another process knows whose turn it is
	waits()
	s.until("worker", "a worker drains", func(*machinev1beta1.Machine) bool { return drained("worker") })
	unhook := func(m *machinev1beta1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil }
	s.edit("one", unhook)
	s.gone("one")
	s.until("two", "drained", func(*machinev1beta1.Machine) bool { return drained("two") })
	s.edit("two", unhook)
	s.gone("two")
	s.edit("worker", unhook)
	s.gone("worker")
}

// TestControlPlaneTurnIsTakenOnce has both passes run at the same time.
func TestControlPlaneTurnIsTakenOnce(t *testing.T) {
	s := newScene(t)
	names := []string{"one", "two"}
	for _, name := range names {
		node := s.running(name, controlPlane)
		s.edit(name, func(m *machinev1beta1.Machine) {
			m.Spec.LifecycleHooks.PreTerminate = []machinev1beta1.LifecycleHook{{Name: "Hold", Owner: "the-test"}}
		})
		s.pod("on-"+name, node, nil)
		s.deleting(name)
	}
	for range 5 {
		done := make(chan struct{})
		for _, name := range names {
			go func() { _, _ = s.pass(name); done <- struct{}{} }()
		}
		<-done
		<-done
	}
	if s.runs("on-one") == s.runs("on-two") {
		t.Errorf("one: %s\ntwo: %s", s.told("one"), s.told("two"))
	}
	for _, name := range names {
		s.edit(name, func(m *machinev1beta1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil })
	}
	for s.get("one") != nil || s.get("two") != nil {
		for _, name := range names {
			if s.get(name) != nil {
				_, _ = s.pass(name)
			}
		}
		s.clock.SetTime(s.clock.Now().Add(machine.Grace))
		pause(t.Context())
		if t.Context().Err() != nil {
			t.Fatal("not gone")
		}
	}
}

func TestOwnNodeIsRefused(t *testing.T) {
	s := newScene(t)
	node := s.running("one")
	s.pod("app", node, nil)
	s.c.ownNode = node
	s.deleting("one")
	s.until("one", "refused", func(*machinev1beta1.Machine) bool {
		c := s.condition("one", machinev1beta1.MachineDrainable)
		return c.Status == corev1.ConditionFalse && c.Reason == machine.ReasonOwnNode && strings.Contains(c.Message, node)
	})
	if !s.heard(machine.ReasonOwnNode) {
		t.Error("no event says so")
	}
	s.rests("one")
	if !s.runs("app") || s.getNode(node).Spec.Unschedulable || s.calls(machinetest.Terminate) != 0 {
		t.Error("the ground is pulled away")
	}
	s.c.ownNode = "another"
	s.gone("one")
}

func TestDrainIsLeftOut(t *testing.T) {
	t.Run("where the annotation says so", func(t *testing.T) {
		s := newScene(t)
		node := s.running("one")
		s.pod("app", node, nil)
		s.edit("one", func(m *machinev1beta1.Machine) { m.Annotations[machine.ExcludeDrainAnnotation] = "" })
		s.deleting("one")
		s.gone("one")
		if !s.runs("app") {
			t.Error("the pod was evicted")
		}
	})
	t.Run("where the Node is gone", func(t *testing.T) {
		s := newScene(t)
		node := s.running("one")
		if err := s.Delete(t.Context(), s.getNode(node)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, _ = s.pass("one")
		}
		if m := s.get("one"); deref(m.Status.Phase) != machinev1beta1.PhaseRunning || m.Status.NodeRef == nil {
			t.Errorf("a Machine whose Node was deleted: %s", s.told("one"))
		}
		s.deleting("one")
		s.gone("one")
	})
}

// TestUnreachableNodeDoesNotHoldTheDrain: no kubelet says that the pod has ended.
func TestUnreachableNodeDoesNotHoldTheDrain(t *testing.T) {
	stories.Long(t)
	s := newScene(t)
	node := s.running("one")
	s.status(node, `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`)
	s.pod("app", node, nil)
	s.patch(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: s.namespace}}, `{"metadata":{"finalizers":["example.com/never-ends"]}}`)
	t.Cleanup(func() {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: s.namespace}}
		_ = s.Client.Patch(context.Background(), p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	})
	s.deleting("one")
	s.gone("one")
}

func (s *scene) status(node, body string) {
	s.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	if err := s.Status().Patch(s.Context(), n, client.RawPatch(types.StrategicMergePatchType, []byte(body))); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) patch(o client.Object, body string) {
	s.Helper()
	if err := s.Patch(s.Context(), o, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		s.Fatal(err)
	}
}

func TestPauseInTheMiddleOfADrain(t *testing.T) {
	s := newScene(t)
	node := s.running("one")
	s.pod("app", node, map[string]string{"app": "held"})
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "keep-one", Namespace: s.namespace},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "held"}}},
	}
	if err := s.Create(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	s.deleting("one")
	s.until("one", "drains", func(*machinev1beta1.Machine) bool {
		return s.condition("one", machinev1beta1.MachineDrained).Reason == machinev1beta1.MachineDrainError
	})
	s.authority("one", machinev1beta1.MachineAuthorityMigrating)
	if _, err := s.pass("one"); err != nil || s.condition("one", "Paused").Status != corev1.ConditionTrue {
		t.Errorf("a Machine that is being deleted does not acknowledge: %v %s", err, s.told("one"))
	}
	calls := s.calls("")
	if err := s.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		_, _ = s.pass("one")
	}
	if !s.runs("app") || s.calls("") != calls {
		t.Error("a paused Machine is drained")
	}
	s.authority("one", machinev1beta1.MachineAuthorityMachineAPI)
	s.gone("one")
}

func TestDeletedWithoutFinalizerIsLeftAlone(t *testing.T) {
	s := newScene(t)
	s.machine("one", func(m *machinev1beta1.Machine) { m.Finalizers = []string{"example.com/theirs"} })
	_, _ = s.pass("one") // says which API is authoritative
	s.deleting("one")
	for range 3 {
		_, _ = s.pass("one")
	}
	if m := s.get("one"); machine.HasFinalizer(m) || m.Status.Phase != nil || s.calls("") != 0 {
		t.Error(s.told("one"))
	}
	s.edit("one", func(m *machinev1beta1.Machine) { m.Finalizers = nil })
}

func TestDeleteThatFails(t *testing.T) {
	s := newScene(t)
	s.running("one")
	inner, asked := s.c.actuator, 0
	s.c.actuator = spoilt{Actuator: inner, delete: func(context.Context, *machinev1beta1.Machine) error {
		asked++
		return machine.Terminal(machinev1beta1.DeleteMachineError, "the instance is protected: take the protection away")
	}}
	s.deleting("one")
	s.until("one", "says why", func(m *machinev1beta1.Machine) bool { return m.Status.ErrorMessage != nil })
	if m := s.get("one"); deref(m.Status.Phase) != machinev1beta1.PhaseDeleting || *m.Status.ErrorReason != machinev1beta1.DeleteMachineError ||
		!machine.HasFinalizer(m) {
		t.Error(s.told("one"))
	}
	if result, err := s.pass("one"); err != nil || result.RequeueAfter < usualPace().idle || result.RequeueAfter > 2*usualPace().idle {
		t.Errorf("no event reports that the protection is gone, so the deletion is tried again, seldom: %v %v", result, err)
	}
	s.c.actuator = inner
	s.gone("one")
}
