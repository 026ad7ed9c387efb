// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/machine/machinetest"
)

func TestFromCreateToRunningAndGone(t *testing.T) {
	s := newScene(t)
	s.machine("one", func(m *machinev1beta1.Machine) {
		m.Spec.Labels = map[string]string{"team": "a"}
		m.Spec.Annotations = map[string]string{"note": "b"}
		m.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	})
	s.phase("one", machinev1beta1.PhaseProvisioned)
	m := s.get("one")
	if !machine.HasFinalizer(m) || m.Spec.ProviderID == nil || len(m.Status.Addresses) == 0 || m.Status.ProviderStatus == nil {
		t.Errorf("a provisioned Machine: %s", s.told("one"))
	}
	name := s.node(s.instances(1)[0], func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoExecute}}
	})
	s.phase("one", machinev1beta1.PhaseRunning)
	s.until("one", "the Node is furnished", func(*machinev1beta1.Machine) bool { return s.getNode(name).Labels["team"] == "a" })
	n := s.getNode(name)
	if n.Annotations["note"] != "b" || n.Annotations[machine.NodeAnnotation] != s.namespace+"/one" || !tainted(n, "dedicated") || !tainted(n, "theirs") {
		t.Errorf("the Node: %v %v", n.Annotations, n.Spec.Taints)
	}
	if ref := s.get("one").Status.NodeRef; ref.Name != name || ref.UID != n.UID || ref.Kind != "Node" {
		t.Errorf("nodeRef: %+v", ref)
	}
	s.deleting("one")
	s.gone("one")
	if s.getNode(name) != nil {
		t.Error("the Node of an instance that is gone is still there")
	}
	if i := s.instances(1)[0]; !i.Gone() {
		t.Errorf("the instance is %s", i.State)
	}
}

func tainted(n *corev1.Node, key string) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == key {
			return true
		}
	}
	return false
}

func TestIdlePassWritesNothing(t *testing.T) {
	s := newScene(t)
	node := s.running("one")
	for range 3 {
		_, _ = s.pass("one")
	}
	machineAt, nodeAt, writes := s.get("one").ResourceVersion, s.getNode(node).ResourceVersion, s.writes.Load()
	for range 10 {
		s.clock.SetTime(s.clock.Now().Add(time.Hour))
		if _, err := s.pass("one"); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.writes.Load() - writes; n != 0 || s.get("one").ResourceVersion != machineAt || s.getNode(node).ResourceVersion != nodeAt {
		t.Errorf("ten idle passes wrote %d times", n)
	}
}

func TestLostAnswerOfCreateMakesOneInstance(t *testing.T) {
	for name, lag := range map[string]time.Duration{"the provider shows it at once": 0, "the provider is slow to show it": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.c.actuator = &machinetest.Actuator{Cloud: s.actuator().Cloud, Poll: time.Minute, Now: s.clock.Now, ListedWithin: lag}
			if err := s.cloud.Configure(t.Context(), machinetest.Settings{Lag: lag}); err != nil {
				t.Fatal(err)
			}
			if err := s.cloud.Inject(t.Context(), machinetest.Fault{Do: machinetest.LoseAnswer, Verb: machinetest.Launch}); err != nil {
				t.Fatal(err)
			}
			s.machine("one")
			s.phase("one", machinev1beta1.PhaseProvisioned)
			s.instances(1)
		})
	}
}

func TestCrashBetweenIntentAndCreate(t *testing.T) {
	s := newScene(t)
	s.machine("one")
	s.c.actuator = spoilt{Actuator: s.c.actuator, create: func(context.Context, *machinev1beta1.Machine) error {
		if got := deref(s.get("one").Status.Phase); got != machinev1beta1.PhaseProvisioning {
			t.Errorf("Create is called while the stored phase is %s", got)
		}
		panic("the process ends")
	}}
	s.crash("one")
	s.instances(0)
	s.replace()
	s.phase("one", machinev1beta1.PhaseProvisioned)
	s.instances(1)
}

// TestTwoProcessesMakeOneInstance, although the provider has no token: leader election separates them, except while one does not know yet that it lost the
// Lease.
func TestTwoProcessesMakeOneInstance(t *testing.T) {
	s := newScene(t)
	s.machine("one", func(m *machinev1beta1.Machine) { m.Finalizers = []string{machinev1beta1.MachineFinalizer} })
	for range 2 {
		_, _ = s.pass("one")
	}
	made, met := &atomic.Int64{}, &sync.WaitGroup{}
	careless := spoilt{Actuator: s.c.actuator, exists: func(context.Context, *machinev1beta1.Machine) error {
		met.Done()
		all := make(chan struct{})
		go func() { met.Wait(); close(all) }()
		select {
		case <-all: // both have read the Machine, and both mean to create
			return nil
		case <-time.After(20 * time.Second):
			return errors.New("the other one does not come")
		}
	}, create: func(context.Context, *machinev1beta1.Machine) error {
		made.Add(1)
		return errors.New("not known")
	}}
	s.c.actuator = careless
	first := s.c
	s.replace()
	s.c.actuator = careless
	for attempt := int64(1); attempt <= 5; attempt++ {
		s.clock.SetTime(s.clock.Now().Add(time.Minute))
		both := &sync.WaitGroup{}
		met.Add(2)
		for _, c := range []*machines{first, s.c} {
			both.Go(func() {
				_, _ = c.frame().Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key("one")})
			})
		}
		both.Wait()
		if n := made.Load(); n != attempt {
			t.Errorf("%d creations after %d attempts", n, attempt)
		}
	}
}

// crash makes passes until one panics.
func (s *scene) crash(name string) {
	s.Helper()
	for range 20 {
		crashed := false
		func() {
			defer func() { crashed = recover() != nil }()
			_, _ = s.pass(name)
		}()
		if crashed {
			return
		}
	}
	s.Fatal("no pass crashed")
}

// TestAuthorityThatMovedMeanwhileStopsCreate has authority move between the read that a pass begins with and Create.
func TestAuthorityThatMovedMeanwhileStopsCreate(t *testing.T) {
	moves := func(s *scene) {
		s.c.actuator = spoilt{Actuator: s.c.actuator, exists: func(context.Context, *machinev1beta1.Machine) error {
			s.authority("one", machinev1beta1.MachineAuthorityMigrating)
			return nil
		}, create: func(context.Context, *machinev1beta1.Machine) error {
			t.Error("Create is called though authority has moved")
			return nil
		}}
		for range 3 {
			_, _ = s.pass("one")
		}
		if got := s.get("one").Status.AuthoritativeAPI; got != machinev1beta1.MachineAuthorityMigrating {
			t.Errorf("no pass asked: %s", got)
		}
	}
	t.Run("of a new Machine", func(t *testing.T) {
		s := newScene(t)
		s.machine("one")
		for range 2 {
			_, _ = s.pass("one") // says which API is authoritative
		}
		moves(s)
	})
	t.Run("of one that was tried before, so that there is nothing to be stored", func(t *testing.T) {
		s := newScene(t)
		s.openCreation("one", machinetest.Refuse)
		moves(s)
	})
}

func TestTerminalErrorFailsTheMachineAndIsKept(t *testing.T) {
	s := newScene(t)
	s.machine("one", func(m *machinev1beta1.Machine) {
		m.Spec.ProviderSpec.Value.Raw = []byte(`{"kind":"AWSMachineProviderConfig"}`)
	})
	s.phase("one", machinev1beta1.PhaseFailed)
	failed := func() {
		t.Helper()
		m := s.get("one")
		if m.Status.ErrorReason == nil || *m.Status.ErrorReason != machinev1beta1.InvalidConfigurationMachineError ||
			m.Status.ErrorMessage == nil || !strings.Contains(*m.Status.ErrorMessage, "instanceType") || deref(m.Status.Phase) != machinev1beta1.PhaseFailed {
			t.Errorf("%v %v: %s", m.Status.ErrorReason, deref(m.Status.ErrorMessage), s.told("one"))
		}
	}
	failed()
	if !s.heard("FailedCreate") {
		t.Error("no event FailedCreate")
	}
	calls := s.calls("")
	for range 3 {
		if result, err := s.pass("one"); err != nil || !result.IsZero() {
			t.Errorf("a failed Machine: %v %v", result, err)
		}
	}
	s.authority("one", machinev1beta1.MachineAuthorityMigrating)
	s.paused("one")
	failed()
	s.authority("one", machinev1beta1.MachineAuthorityMachineAPI)
	for range 3 {
		_, _ = s.pass("one")
	}
	failed()
	if s.calls("") != calls {
		t.Error("a failed Machine was called for")
	}
	s.deleting("one")
	s.gone("one")
}

// paused makes passes until the pause is acknowledged.
func (s *scene) paused(name string) {
	s.Helper()
	s.until(name, "Paused", func(*machinev1beta1.Machine) bool { return s.condition(name, "Paused").Status == corev1.ConditionTrue })
}

func TestRequeueAfterIsHonouredAsItIs(t *testing.T) {
	s := newScene(t)
	asked := 0
	s.c.actuator = spoilt{Actuator: s.c.actuator, create: func(context.Context, *machinev1beta1.Machine) error {
		asked++
		return machine.RequeueAfter(7*time.Minute, "capacity")
	}}
	s.machine("one")
	for range 5 {
		if result, err := s.pass("one"); err != nil || asked > 0 && result.RequeueAfter != 7*time.Minute {
			t.Errorf("%v %v, want 7m", result, err)
		}
	}
	s.clock.SetTime(s.clock.Now().Add(6 * time.Minute))
	if result, _ := s.pass("one"); asked != 1 || result.RequeueAfter != time.Minute {
		t.Errorf("asked %d times, again after %s, want 1 and 1m", asked, result.RequeueAfter)
	}
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	if _, _ = s.pass("one"); asked != 2 {
		t.Errorf("asked %d times when the time had come, want 2", asked)
	}
	s.edit("one", func(m *machinev1beta1.Machine) { m.Spec.Labels = map[string]string{"a": "b"} })
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	if _, _ = s.pass("one"); asked != 3 {
		t.Errorf("asked %d times after the spec changed, want 3", asked)
	}
}

func TestTransientErrorIsRetriedAndReported(t *testing.T) {
	s := newScene(t)
	if err := s.cloud.Inject(t.Context(), machinetest.Fault{Do: machinetest.Refuse, Verb: machinetest.Launch, Message: "no capacity", Times: 3}); err != nil {
		t.Fatal(err)
	}
	s.machine("one")
	for s.calls(machinetest.Launch) == 0 {
		if _, err := s.pass("one"); err != nil && s.calls(machinetest.Launch) == 0 {
			t.Fatal(err)
		}
	}
	if c := s.condition("one", machinev1beta1.MachineCreated); c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, "no capacity") {
		t.Errorf("%+v", c)
	}
	if s.get("one").Status.ErrorReason != nil {
		t.Error("an error that passes was called terminal")
	}
	s.phase("one", machinev1beta1.PhaseProvisioned)
	s.instances(1)
}

// TestWhatAnActuatorMeetsIsNoNewsOfOurs: an actuator reads Secrets; that one is missing or changed meanwhile must not look like a missing Machine, which
// nobody would report.
func TestWhatAnActuatorMeetsIsNoNewsOfOurs(t *testing.T) {
	s := newScene(t)
	s.c.actuator = spoilt{Actuator: s.c.actuator, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
		return s.Get(ctx, s.key("no-such-machine"), &machinev1beta1.Machine{})
	}}
	s.machine("one")
	var err error
	for range 4 {
		if _, err = s.pass("one"); err != nil {
			break
		}
	}
	if err == nil || !s.heard("FailedCreate") {
		t.Errorf("an actuator's NotFound: %v", err)
	}
}

func TestProviderThatTalksTooMuch(t *testing.T) {
	s := newScene(t)
	s.c.actuator = spoilt{Actuator: s.c.actuator, create: func(context.Context, *machinev1beta1.Machine) error {
		return machine.InvalidConfiguration("%s", strings.Repeat("ä<br>", 1<<20))
	}}
	s.machine("one")
	s.phase("one", machinev1beta1.PhaseFailed)
	if n := len(*s.get("one").Status.ErrorMessage); n > longestMessage {
		t.Errorf("errorMessage has %d bytes", n)
	}
}

func TestInstanceThatDisappearsFailsTheMachine(t *testing.T) {
	s := newScene(t)
	s.running("one")
	if err := s.cloud.Act(t.Context(), s.instances(1)[0].ID, machinetest.End); err != nil {
		t.Fatal(err)
	}
	s.phase("one", machinev1beta1.PhaseFailed)
	m := s.get("one")
	if m.Status.ErrorReason == nil || *m.Status.ErrorReason != machinev1beta1.UpdateMachineError || deref(m.Status.ErrorMessage) != machine.Missing {
		t.Errorf("%v %s", m.Status.ErrorReason, deref(m.Status.ErrorMessage))
	}
	if c := s.condition("one", machinev1beta1.InstanceExistsCondition); c.Status != corev1.ConditionFalse || c.Reason != machinev1beta1.InstanceMissingReason {
		t.Errorf("%+v", c)
	}
	for range 3 {
		_, _ = s.pass("one")
	}
	s.instances(1)
}

// TestErrorThatClusterAPIReported: Cluster API reports a failure without a phase for it, the mirror carries it over, and the Machine moves to the Machine API.
func TestErrorThatClusterAPIReported(t *testing.T) {
	arrive := func(t *testing.T, ended bool) *scene {
		s := newScene(t)
		s.running("one")
		if ended {
			if err := s.cloud.Act(t.Context(), s.instances(1)[0].ID, machinetest.End); err != nil {
				t.Fatal(err)
			}
		}
		s.patch(s.get("one"), `{"metadata":{"finalizers":null}}`)
		const failure = `{"status":{"errorReason":"UpdateError","errorMessage":"Failure detected from referenced resource"}}`
		if err := s.Status().Patch(t.Context(), s.get("one"), client.RawPatch(types.MergePatchType, []byte(failure))); err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("the instance is gone", func(t *testing.T) {
		s := arrive(t, true)
		s.phase("one", machinev1beta1.PhaseFailed)
		if got := deref(s.get("one").Status.ErrorMessage); got != machine.Missing {
			t.Errorf("errorMessage %q", got)
		}
		if c := s.condition("one", machinev1beta1.InstanceExistsCondition); c.Status != corev1.ConditionFalse || c.Reason != machinev1beta1.InstanceMissingReason {
			t.Errorf("%+v", c)
		}
	})
	t.Run("the instance runs", func(t *testing.T) {
		s := arrive(t, false)
		s.until("one", "has no error", func(m *machinev1beta1.Machine) bool {
			return m.Status.ErrorMessage == nil && m.Status.ErrorReason == nil
		})
		if got := deref(s.get("one").Status.Phase); got != machinev1beta1.PhaseRunning {
			t.Errorf("phase %s", got)
		}
	})
	t.Run("the provider does not answer at first", func(t *testing.T) {
		s := arrive(t, true)
		inner := s.c.actuator
		s.c.actuator = spoilt{Actuator: inner, exists: func(context.Context, *machinev1beta1.Machine) error { return errors.New("no answer") }}
		s.until("one", "InstanceExists is Unknown", func(m *machinev1beta1.Machine) bool {
			c, _ := conditionOfType(m.Status.Conditions, machinev1beta1.InstanceExistsCondition)
			return c.Status == corev1.ConditionUnknown
		})
		s.c.actuator = inner
		s.phase("one", machinev1beta1.PhaseFailed)
		if c := s.condition("one", machinev1beta1.InstanceExistsCondition); c.Status != corev1.ConditionFalse {
			t.Errorf("%+v", c)
		}
	})
}

func TestPauseIsAcknowledgedWhenACreationIsOver(t *testing.T) {
	t.Run("the answer was lost and the instance is there", func(t *testing.T) {
		s := newScene(t)
		s.openCreation("one", machinetest.LoseAnswer)
		s.authority("one", machinev1beta1.MachineAuthorityMigrating)
		s.paused("one")
		if m := s.get("one"); m.Spec.ProviderID == nil {
			t.Errorf("the pause is acknowledged and the instance is not known: %s", s.told("one"))
		}
		s.instances(1)
	})
	t.Run("the provider shows the instance later", func(t *testing.T) {
		s := newScene(t)
		if err := s.cloud.Configure(t.Context(), machinetest.Settings{Lag: time.Minute + 50*time.Second}); err != nil {
			t.Fatal(err)
		}
		s.openCreation("one", machinetest.LoseAnswer)
		s.authority("one", machinev1beta1.MachineAuthorityMigrating)
		if _, _ = s.pass("one"); s.condition("one", "Paused").Status == corev1.ConditionTrue {
			t.Error("the pause is acknowledged while the provider may be slow to tell")
		}
		s.paused("one")
		if m := s.get("one"); m.Spec.ProviderID == nil {
			t.Errorf("the pause is acknowledged and the instance is not known: %s", s.told("one"))
		}
	})
	t.Run("there is no instance", func(t *testing.T) {
		s := newScene(t)
		s.openCreation("one", machinetest.Refuse)
		launches := s.calls(machinetest.Launch)
		s.authority("one", machinev1beta1.MachineAuthorityMigrating)
		began := s.clock.Now()
		s.paused("one")
		if s.clock.Since(began) < machine.Grace {
			t.Error("the pause is acknowledged before it is certain")
		}
		if s.calls(machinetest.Launch) != launches {
			t.Error("Create is called for a paused Machine")
		}
	})
	t.Run("the clock of the process that asked was ahead", func(t *testing.T) {
		s := newScene(t)
		s.openCreation("one", machinetest.Refuse)
		s.clock.SetTime(s.clock.Now().Add(-10 * time.Hour))
		s.authority("one", machinev1beta1.MachineAuthorityMigrating)
		for range 12 {
			_, _ = s.pass("one")
			s.clock.SetTime(s.clock.Now().Add(time.Minute))
		}
		if s.condition("one", "Paused").Status != corev1.ConditionTrue {
			t.Errorf("after twelve minutes the pause is not acknowledged: %s", s.told("one"))
		}
	})
	t.Run("the provider does not answer", func(t *testing.T) {
		s := newScene(t)
		s.openCreation("one", machinetest.LoseAnswer)
		if err := s.cloud.Inject(t.Context(), machinetest.Fault{Do: machinetest.Refuse, Verb: machinetest.Describe, Times: -1}); err != nil {
			t.Fatal(err)
		}
		s.authority("one", machinev1beta1.MachineAuthorityMigrating)
		for range 5 {
			s.clock.SetTime(s.clock.Now().Add(time.Hour))
			if _, err := s.pass("one"); err == nil || s.condition("one", "Paused").Status == corev1.ConditionTrue {
				t.Fatalf("the pause is acknowledged though it is not known: %v", err)
			}
		}
		_ = s.cloud.Heal(t.Context())
		s.paused("one")
	})
	t.Run("another controller asked, and did not say when", func(t *testing.T) {
		s := newScene(t)
		s.machine("one")
		for range 2 {
			_, _ = s.pass("one")
		}
		s.edit("one", func(m *machinev1beta1.Machine) {
			m.Finalizers, m.Status.Phase = []string{machinev1beta1.MachineFinalizer}, new(machinev1beta1.PhaseProvisioning)
		})
		s.authority("one", machinev1beta1.MachineAuthorityMigrating)
		began := s.clock.Now()
		s.paused("one")
		if s.clock.Since(began) < machine.Grace {
			t.Error("the pause is acknowledged before it is certain")
		}
	})
	t.Run("nothing was asked for", func(t *testing.T) {
		s := newScene(t)
		s.machine("one")
		for range 2 {
			_, _ = s.pass("one")
		}
		s.edit("one", func(m *machinev1beta1.Machine) { m.Finalizers = []string{machinev1beta1.MachineFinalizer} })
		s.authority("one", machinev1beta1.MachineAuthorityMigrating)
		if _, _ = s.pass("one"); s.condition("one", "Paused").Status != corev1.ConditionTrue || s.calls("") != 0 {
			t.Errorf("%d calls: %s", s.calls(""), s.told("one"))
		}
	})
}

// openCreation leaves a Machine whose one Create came to nothing that is known.
func (s *scene) openCreation(name string, how machinetest.Mishap) {
	s.Helper()
	if err := s.cloud.Inject(s.Context(), machinetest.Fault{Do: how, Verb: machinetest.Launch}); err != nil {
		s.Fatal(err)
	}
	s.machine(name)
	for range 10 {
		_, _ = s.pass(name)
		if s.calls(machinetest.Launch) > 0 {
			return
		}
	}
	s.Fatal("no Create")
}

func TestPauseWaitsForACreateThatHangs(t *testing.T) {
	s := newScene(t)
	entered, release := make(chan struct{}), make(chan struct{})
	inner := s.c.actuator
	s.c.actuator = spoilt{Actuator: inner, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
		close(entered)
		<-release
		return inner.Create(ctx, m)
	}}
	s.machine("one")
	for range 2 {
		_, _ = s.pass("one")
	}
	over := make(chan struct{})
	go func() { defer close(over); _, _ = s.pass("one") }() // as the queue does: no other pass of this Machine meanwhile
	<-entered
	s.authority("one", machinev1beta1.MachineAuthorityMigrating)
	if s.condition("one", "Paused").Status != corev1.ConditionFalse {
		t.Error("paused while a Create hangs")
	}
	close(release)
	<-over
	s.c.actuator = inner
	s.paused("one")
	if m := s.get("one"); m.Spec.ProviderID == nil {
		t.Errorf("the pause is acknowledged and the instance is not known: %s", s.told("one"))
	}
	s.instances(1)
}

func TestGate(t *testing.T) {
	t.Run("Cluster API is authoritative: no call", func(t *testing.T) {
		s := newScene(t)
		s.machine("one", func(m *machinev1beta1.Machine) { m.Spec.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI })
		s.paused("one")
		for range 5 {
			_, _ = s.pass("one")
		}
		if s.calls("") != 0 || machine.HasFinalizer(s.get("one")) {
			t.Errorf("%d calls: %s", s.calls(""), s.told("one"))
		}
		s.deleting("one")
	})
	t.Run("the gate is off: as ever", func(t *testing.T) {
		s := newScene(t)
		s.c.gated = false
		s.machine("one", func(m *machinev1beta1.Machine) { m.Spec.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI })
		s.phase("one", machinev1beta1.PhaseProvisioned)
		if s.condition("one", "Paused").Status != "" || s.get("one").Status.AuthoritativeAPI != "" {
			t.Error(s.told("one"))
		}
	})
}

func TestUpdateThatFailsLeavesTheNodeLinked(t *testing.T) {
	s := newScene(t)
	inner := s.c.actuator
	s.machine("one")
	s.phase("one", machinev1beta1.PhaseProvisioned)
	s.c.actuator = spoilt{Actuator: inner, update: func(_ context.Context, m *machinev1beta1.Machine) error {
		m.Annotations = map[string]string{"from": "update"}
		m.Spec.Labels = map[string]string{"not": "theirs"}
		m.Status.Phase = new("Odd")
		return errors.New("the provider is ill")
	}}
	s.node(s.instances(1)[0])
	s.phase("one", machinev1beta1.PhaseRunning)
	if m := s.get("one"); m.Annotations["from"] != "update" || len(m.Spec.Labels) > 0 {
		t.Errorf("what an actuator changed: %v %v", m.Annotations, m.Spec.Labels)
	}
}

// TestAnotherMachinesInstanceIsNeitherAdoptedNorTerminated plays a status that somebody has written where no admission refuses that.
func TestAnotherMachinesInstanceIsNeitherAdoptedNorTerminated(t *testing.T) {
	for name, play := range map[string]func(*scene){
		"an instance is being created": func(s *scene) {
			s.phase("two", machinev1beta1.PhaseProvisioned)
			s.instances(2)
		},
		"the Machine is being deleted": func(s *scene) {
			s.deleting("two")
			s.gone("two")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.running("one")
			theirs := s.instances(1)[0]
			for m := (&machinev1beta1.Machine{}); m.Spec.ProviderID == nil; pause(t.Context()) {
				if err := s.c.client.Get(t.Context(), s.key("one"), m); err != nil {
					t.Fatal(err)
				}
			}
			s.machine("two", func(m *machinev1beta1.Machine) { m.Finalizers = []string{machinev1beta1.MachineFinalizer} })
			s.edit("two", func(m *machinev1beta1.Machine) {
				m.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"instanceId":"` + theirs.ID + `"}`)}
			})
			play(s)
			for _, call := range must(s.cloud.Ledger(t.Context())) {
				if call.Verb == machinetest.Terminate && call.Instance == theirs.ID {
					t.Errorf("the instance of the other Machine was terminated: %+v", call)
				}
			}
			if m := s.get("two"); m != nil && deref(m.Spec.ProviderID) == theirs.ProviderID() {
				t.Errorf("the Machine has the other's instance %s", theirs.ID)
			}
		})
	}
}
