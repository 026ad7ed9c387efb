// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/machine/machinetest"
)

// TestDeletionOfACopy: somebody copied a Machine with its spec.providerID, and deletes the copy. The instance, its Node and its pods are the other's.
func TestDeletionOfACopy(t *testing.T) {
	s := newScene(t)
	node := s.running("one")
	s.pod("app", node, nil)
	s.machine("copy", func(m *machinev1beta1.Machine) { m.Spec.ProviderID = s.get("one").Spec.ProviderID })
	s.phase("copy", machinev1beta1.PhaseProvisioned)
	s.deleting("copy")
	s.until("copy", "waits", func(m *machinev1beta1.Machine) bool {
		if m == nil {
			t.Fatal("the copy is gone")
		}
		c := s.condition("copy", machinev1beta1.MachineDrainable)
		return c.Status == corev1.ConditionFalse && c.Reason == machine.ReasonInstanceShared && strings.Contains(c.Message, "Machine one")
	})
	s.rests("copy")
	if n := s.getNode(node); n == nil || n.Spec.Unschedulable || !s.runs("app") || s.calls(machinetest.Terminate) != 0 {
		t.Error("the deletion of a copy touches what is another Machine's")
	}
	s.edit("copy", func(m *machinev1beta1.Machine) { m.Spec.ProviderID = nil })
	s.gone("copy")
	if i := s.instances(1)[0]; i.State != machinetest.Running || s.getNode(node) == nil || !s.runs("app") {
		t.Errorf("the instance of the other is %s", i.State)
	}
	s.deleting("one")
	s.gone("one")
}

func TestDeletionOfACopyAndOfItsOriginal(t *testing.T) {
	s := newScene(t)
	s.running("one")
	s.machine("copy", func(m *machinev1beta1.Machine) { m.Spec.ProviderID = s.get("one").Spec.ProviderID })
	s.phase("copy", machinev1beta1.PhaseProvisioned)
	s.deleting("copy")
	s.deleting("one")
	s.gone("copy")
	s.gone("one")
	if i := s.instances(1)[0]; !i.Gone() {
		t.Errorf("the instance is left behind: %+v", i)
	}
}

// TestNothingIsTakenBackFromAnother: the Machine went away while Create was under way, and by then another Machine names the instance that came of it.
func TestNothingIsTakenBackFromAnother(t *testing.T) {
	for name, other := range map[string]string{"a Machine of the same name": "one", "a Machine of another name": "two"} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.machine("one")
			uid, inner := s.get("one").UID, s.c.actuator
			s.c.actuator = spoilt{Actuator: inner, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if m.UID != uid {
					return inner.Create(ctx, m)
				}
				if err := inner.Create(ctx, m); err != nil {
					return err
				}
				s.edit("one", func(m *machinev1beta1.Machine) { m.Finalizers = nil })
				if err := s.Delete(ctx, s.get("one")); err != nil {
					t.Fatal(err)
				}
				s.machine(other, func(o *machinev1beta1.Machine) { o.Spec.ProviderID = m.Spec.ProviderID })
				return nil
			}}
			var err error
			for range 6 {
				if m := s.get("one"); m == nil || m.UID != uid || err != nil {
					break
				}
				_, err = s.pass("one")
			}
			if i := s.instances(1)[0]; i.State != machinetest.Running {
				t.Errorf("the instance that Machine %s names is %s", other, i.State)
			}
			if err != nil {
				t.Errorf("the pass says %v", err)
			}
			if !s.heard("InstanceKept") {
				t.Error("no event says whose the instance is")
			}
		})
	}
}

// TestTakingBackEndsNothingOfTheNextOfItsName: Delete is called for the Machine that went away, while another has its name and an instance of its own.
func TestTakingBackEndsNothingOfTheNextOfItsName(t *testing.T) {
	s := newScene(t)
	s.machine("one")
	uid, inner := s.get("one").UID, s.c.actuator
	s.c.actuator = spoilt{Actuator: inner, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
		if m.UID != uid {
			return inner.Create(ctx, m)
		}
		s.edit("one", func(m *machinev1beta1.Machine) { m.Finalizers = nil })
		if err := s.Delete(ctx, s.get("one")); err != nil {
			t.Fatal(err)
		}
		s.machine("one")
		if err := inner.Create(ctx, s.get("one")); err != nil { // as by another process
			t.Fatal(err)
		}
		if err := inner.Create(ctx, m.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		return errors.New("the answer is lost")
	}}
	s.c.pace.call = 5 * time.Second
	s.c.actuator = spoilt{Actuator: s.c.actuator, delete: func(ctx context.Context, m *machinev1beta1.Machine) error {
		s.clock.SetTime(s.clock.Now().Add(time.Hour))
		err := inner.Delete(ctx, m)
		if _, wished := machine.AsRequeueAfter(err); wished {
			return machine.RequeueAfter(time.Millisecond, "the end")
		}
		return err
	}}
	for range 6 {
		if s.get("one").UID != uid {
			break
		}
		_, _ = s.pass("one")
	}
	states := map[machinetest.State]int{}
	for _, i := range s.instances(2) {
		states[i.State]++
		if i.Gone() != (i.Token == string(uid)) {
			t.Errorf("%+v", i)
		}
	}
	if states[machinetest.Running] != 1 || states[machinetest.Terminated] != 1 {
		t.Errorf("%v", states)
	}
}

// addressThatCameBack has a Machine "old" that has lost its instance, and a Machine "new" whose instance has the address by now. The new one's Node has no
// provider ID yet.
func addressThatCameBack(s *scene) (node string) {
	s.Helper()
	s.machine("old")
	s.phase("old", machinev1beta1.PhaseProvisioned)
	if err := s.cloud.Act(s.Context(), s.instances(1)[0].ID, machinetest.End); err != nil {
		s.Fatal(err)
	}
	s.phase("old", machinev1beta1.PhaseFailed)
	s.machine("new")
	s.phase("new", machinev1beta1.PhaseProvisioned)
	s.edit("old", func(m *machinev1beta1.Machine) { m.Status.Addresses = s.get("new").Status.Addresses })
	node = s.node(machinetest.Instance{}, func(n *corev1.Node) { n.Spec.ProviderID = "" })
	s.status(node, fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":%q}]}}`, s.instances(2)[1].IP()))
	return node
}

// TestAddressThatCameBack: the deletion of the old Machine leaves the Node to the new one.
func TestAddressThatCameBack(t *testing.T) {
	s := newScene(t)
	node := addressThatCameBack(s)
	s.cached(node, func(n *corev1.Node) bool { return len(n.Status.Addresses) == 1 })
	s.pod("app", node, nil)
	s.deleting("old")
	s.gone("old")
	if n := s.getNode(node); n == nil || n.Spec.Unschedulable || !s.runs("app") {
		t.Fatal("the Node of the new Machine is drained or deleted with the old Machine")
	}
	s.phase("new", machinev1beta1.PhaseRunning)
}

// TestFailedMachineHoldsNoAddress: the Machine that has the address now gets its Node although the old one is never deleted.
func TestFailedMachineHoldsNoAddress(t *testing.T) {
	s := newScene(t)
	addressThatCameBack(s)
	s.phase("new", machinev1beta1.PhaseRunning)
}

// TestTwoMachinesWithOneAddress: neither gets the Node, since it may be the other's, and the pass reports that.
func TestTwoMachinesWithOneAddress(t *testing.T) {
	s := newScene(t)
	for _, name := range []string{"one", "two"} {
		s.machine(name)
		s.phase(name, machinev1beta1.PhaseProvisioned)
	}
	update := s.c.actuator.Update
	s.c.actuator = spoilt{Actuator: s.c.actuator, update: func(ctx context.Context, m *machinev1beta1.Machine) error {
		err := update(ctx, m)
		m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.9.9.9"}}
		return err
	}}
	for _, name := range []string{"one", "two"} {
		s.until(name, "has the address", func(m *machinev1beta1.Machine) bool { return m.Status.Addresses[0].Address == "10.9.9.9" })
		s.cachedMachine(name, func(m *machinev1beta1.Machine) bool { return m.Status.Addresses[0].Address == "10.9.9.9" })
	}
	node := s.node(machinetest.Instance{}, func(n *corev1.Node) { n.Spec.ProviderID = "" })
	s.status(node, `{"status":{"addresses":[{"type":"InternalIP","address":"10.9.9.9"}]}}`)
	s.cached(node, func(n *corev1.Node) bool { return len(n.Status.Addresses) == 1 })
	for _, name := range []string{"one", "two"} {
		s.clock.SetTime(s.clock.Now().Add(time.Hour))
		_, err := s.pass(name)
		if err == nil || !strings.Contains(err.Error(), "the same address") || s.get(name).Status.NodeRef != nil {
			t.Errorf("%s: %v, %+v", name, err, s.get(name).Status.NodeRef)
		}
	}
	if s.getNode(node).Annotations[machine.NodeAnnotation] != "" {
		t.Error("the Node is given to one of the two")
	}
}

// cached waits until the controller's cache has a Node that is so.
func (s *scene) cached(node string, is func(*corev1.Node) bool) {
	s.Helper()
	n := &corev1.Node{}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); pause(s.Context()) {
		if s.c.client.Get(s.Context(), client.ObjectKey{Name: node}, n) == nil && is(n) {
			return
		}
	}
	s.Fatalf("the cache does not have Node %s", node)
}

// cachedMachine waits until the controller's cache has a Machine that is so.
func (s *scene) cachedMachine(name string, is func(*machinev1beta1.Machine) bool) {
	s.Helper()
	m := &machinev1beta1.Machine{}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); pause(s.Context()) {
		if s.c.client.Get(s.Context(), s.key(name), m) == nil && is(m) {
			return
		}
	}
	s.Fatalf("the cache does not have Machine %s", name)
}

// TestDrainOfANodeThatCameLate: the Machine was deleted before its Node registered, a hook holds it, and pods come to the Node.
func TestDrainOfANodeThatCameLate(t *testing.T) {
	s := newScene(t)
	s.machine("one", func(m *machinev1beta1.Machine) {
		m.Spec.LifecycleHooks.PreTerminate = []machinev1beta1.LifecycleHook{{Name: "Hold", Owner: "the-test"}}
	})
	s.phase("one", machinev1beta1.PhaseProvisioned)
	s.deleting("one")
	s.until("one", "has no Node to drain", func(*machinev1beta1.Machine) bool {
		return s.condition("one", machinev1beta1.MachineDrained).Reason == machine.ReasonNoNode
	})
	node := s.node(s.instances(1)[0])
	s.pod("app", node, nil)
	s.cached(node, func(*corev1.Node) bool { return true })
	s.edit("one", func(m *machinev1beta1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil })
	s.gone("one")
	if s.runs("app") {
		t.Error("the instance was removed under a pod that nobody evicted")
	}
}

// TestDrainOfANodeThatSomebodyUncordoned: while a hook holds the Machine, its Node takes pods again.
func TestDrainOfANodeThatSomebodyUncordoned(t *testing.T) {
	s := newScene(t)
	node := s.running("one")
	s.edit("one", func(m *machinev1beta1.Machine) {
		m.Spec.LifecycleHooks.PreTerminate = []machinev1beta1.LifecycleHook{{Name: "Hold", Owner: "the-test"}}
	})
	s.deleting("one")
	s.until("one", "is drained", func(*machinev1beta1.Machine) bool {
		return s.condition("one", machinev1beta1.MachineDrained).Status == corev1.ConditionTrue
	})
	s.cached(node, func(n *corev1.Node) bool { return n.Spec.Unschedulable })
	s.rests("one")
	s.patch(s.getNode(node), `{"spec":{"unschedulable":null}}`)
	s.pod("app", node, nil)
	s.cached(node, func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	s.edit("one", func(m *machinev1beta1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil })
	s.gone("one")
	if s.runs("app") {
		t.Error("the instance was removed under a pod that nobody evicted")
	}
}

// TestACopyByAnIDOfAnotherCloud: controllers look past the scheme of an ID, so that one with another cloud's, which was stored before admission refused it, is a
// copy's, too.
func TestACopyByAnIDOfAnotherCloud(t *testing.T) {
	machineOf := func(name, id, kind string) machinev1beta1.Machine {
		m := machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		m.Spec.ProviderID = &id
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"kind":%q}`, kind)}
		return m
	}
	const aws, gcp = "AWSMachineProviderConfig", "GCPMachineProviderSpec"
	for _, c := range []struct {
		id, other, platform string
		shared              bool
	}{
		{"aws:///us-east-1a/i-1", "gce://p/z/i-1", aws, true},
		{"gce://p/z/i-1", "aws:///us-east-1a/i-1", aws, true},
		{"gce://p/z/i-1", "gce://p/y/i-1", aws, true},
		{"aws:///us-east-1a/i-1", "gce://p/z/i-2", aws, false},
		{"gce://p/z/n", "gce://p/y/n", gcp, false},
		{"gce://p/z/n", "aws://p/z/n", gcp, true},
	} {
		one, other := machineOf("one", c.id, c.platform), machineOf("other", c.other, c.platform)
		read := listed{items: []machinev1beta1.Machine{one, other}}
		got, err := (&machines{}).sharer(t.Context(), read, &one)
		if err != nil || (got == "other") != c.shared {
			t.Errorf("%s beside %s on %s: %q, %v", c.id, c.other, c.platform, got, err)
		}
		if key := "id/" + instanceKeyOf(&one); slices.Contains(machineKeys(&other), key) != c.shared {
			t.Errorf("%s beside %s on %s: the index finds it by %s: %t", c.id, c.other, c.platform, key, !c.shared)
		}
	}
	m := machineOf("one", "gce://p/z/i-1", aws)
	node := corev1.Node{Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-1"}}
	if machine.NodeOf(&m, []corev1.Node{node}) == nil {
		t.Error("its Node is not its own, so that it would be deleted undrained")
	}
}

// listed is a list of Machines as a client.Reader.
type listed struct {
	client.Reader
	items []machinev1beta1.Machine
}

func (l listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*machinev1beta1.MachineList).Items = l.items
	return nil
}
