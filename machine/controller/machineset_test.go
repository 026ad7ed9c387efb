// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/stories"
)

// newSet creates a MachineSet; edits change it before.
func (p *place) newSet(replicas int32, edits ...func(*machinev1beta1.MachineSet)) *machinev1beta1.MachineSet {
	p.Helper()
	set := &machinev1beta1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: p.namespace},
		Spec:       machinev1beta1.MachineSetSpec{Replicas: &replicas, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"set": "workers"}}},
	}
	set.Spec.Template.Labels = map[string]string{"set": "workers", "more": "label"}
	set.Spec.Template.Annotations = map[string]string{"note": "kept"}
	for _, edit := range edits {
		edit(set)
	}
	if err := p.Create(p.Context(), set); err != nil {
		p.Fatal(err)
	}
	return set
}

func (p *place) set() *machinev1beta1.MachineSet {
	p.Helper()
	set := &machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: p.namespace}}
	if err := p.Get(p.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		p.Fatal(err)
	}
	return set
}

func (p *place) machines() []machinev1beta1.Machine {
	p.Helper()
	l := &machinev1beta1.MachineList{}
	if err := p.List(p.Context(), l, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	return l.Items
}

// standing are the Machines that nobody has deleted. One that was waits for its finalizer, which no Machine controller is there to remove.
func (p *place) standing() []machinev1beta1.Machine {
	p.Helper()
	return slices.DeleteFunc(p.machines(), func(m machinev1beta1.Machine) bool { return !m.DeletionTimestamp.IsZero() })
}

func (p *place) machineNames() []string {
	p.Helper()
	var names []string
	for _, m := range p.standing() {
		names = append(names, m.Name)
	}
	return names
}

func (p *place) scale(n int) {
	p.Helper()
	p.merge(p.set(), false, `{"spec": {"replicas": %d}}`, n)
}

// waitForMachines waits for so many Machines, and for the set to say so.
func (p *place) waitForMachines(n int) {
	p.Helper()
	p.eventually(fmt.Sprintf("%d Machines", n), func() bool {
		set := p.set()
		return len(p.standing()) == n && int(set.Status.Replicas) == n && set.Status.ObservedGeneration == set.Generation
	})
}

// newMachine creates a Machine that matches the set and that nobody controls.
func (p *place) newMachine(name string, edits ...func(*machinev1beta1.Machine)) *machinev1beta1.Machine {
	p.Helper()
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.namespace, Labels: map[string]string{"set": "workers"}}}
	for _, edit := range edits {
		edit(m)
	}
	if err := p.Create(p.Context(), m); err != nil {
		p.Fatal(err)
	}
	return m
}

// newNode creates a Node that is ready, for a Machine that then names it.
func (p *place) newNode(m *machinev1beta1.Machine) *corev1.Node {
	p.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Namespace + "-" + m.Name}}
	if err := p.Create(p.Context(), n); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = p.Delete(context.Background(), n) })
	p.reportCondition(n, "Ready", "True", time.Now().Add(-time.Hour))
	p.merge(m, true, `{"status": {"phase": "Running", "nodeRef": {"name": %q}}}`, n.Name)
	return n
}

// reportCondition makes a Node report one condition, since a moment.
func (p *place) reportCondition(n *corev1.Node, kind, status string, since time.Time) {
	p.Helper()
	p.merge(n, true, `{"status": {"conditions": [{"type": %q, "status": %q, "lastTransitionTime": %q, "lastHeartbeatTime": %q}]}}`,
		kind, status, since.UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339))
}

func onlyGated() Options { return Options{Gated: true} }

// TestMachineSetScales: up, down, to its number again, and at rest in between.
func TestMachineSetScales(t *testing.T) {
	p := newPlace(t)
	p.run(AddMachineSets, onlyGated())
	set := p.newSet(3)
	p.waitForMachines(3)
	for _, m := range p.standing() {
		want := metav1.OwnerReference{
			APIVersion: "machine.openshift.io/v1beta1", Kind: "MachineSet", Name: "workers", UID: set.UID, Controller: new(true), BlockOwnerDeletion: new(true),
		}
		if diff := cmp.Diff([]metav1.OwnerReference{want}, m.OwnerReferences); diff != "" {
			t.Error(diff)
		}
		if m.Labels["more"] != "label" || m.Annotations["note"] != "kept" || !strings.HasPrefix(m.Name, "workers-") || m.Spec.AuthoritativeAPI != "MachineAPI" {
			t.Errorf("not as the template has it: %v %v %s %s", m.Labels, m.Annotations, m.Name, m.Spec.AuthoritativeAPI)
		}
	}
	p.idle(func() { p.merge(p.set(), false, `{"metadata": {"labels": {"poke": "1"}}}`) })
	p.scale(5)
	p.waitForMachines(5)
	p.scale(2)
	p.waitForMachines(2)
	if err := p.Delete(t.Context(), &p.standing()[0]); err != nil {
		t.Fatal(err)
	}
	p.eventually("the set makes another", func() bool { return p.requests.count("POST", "machines") == 6 })
	p.waitForMachines(2)
	p.idle(func() { p.merge(&p.standing()[0], false, `{"metadata": {"labels": {"poke": "1"}}}`) })
	if made, gone := p.requests.count("POST", "machines"), p.requests.count("DELETE", "machines"); made != 6 || gone != 3 {
		t.Errorf("created %d and deleted %d, want 6 and 3: %v", made, gone, p.requests.changes())
	}
	p.eventually("the set tells what it did", func() bool {
		value := p.reasons(set)
		return value["SuccessfulCreate"] == 6 && value["SuccessfulDelete"] == 3
	})
}

// TestMachineSetScalesThroughScale uses the API's own subresource, as kubectl scale and the autoscaler do.
func TestMachineSetScalesThroughScale(t *testing.T) {
	p := newPlace(t)
	p.run(AddMachineSets, onlyGated())
	set := p.newSet(1)
	p.waitForMachines(1)
	scale := &autoscalingv1.Scale{}
	if err := p.SubResource("scale").Get(t.Context(), set, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Status.Replicas != 1 || scale.Status.Selector != "set=workers" {
		t.Errorf("scale says %+v", scale.Status)
	}
	scale.Spec.Replicas = 4
	if err := p.SubResource("scale").Update(t.Context(), set, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	p.waitForMachines(4)
}

// TestMachineSetDefaultsToOne: a set whose number was taken away has one Machine.
func TestMachineSetDefaultsToOne(t *testing.T) {
	p := newPlace(t)
	p.run(AddMachineSets, onlyGated())
	p.newSet(1, func(s *machinev1beta1.MachineSet) { s.Spec.Replicas = nil })
	p.waitForMachines(1)
}

func TestMachineSetDeletesByPolicy(t *testing.T) {
	for policy, want := range map[string]string{"Newest": "a", "Oldest": "c"} {
		t.Run(policy, func(t *testing.T) {
			p := newPlace(t)
			// One after the other, by the clock of the API server: it counts in seconds.
			for _, name := range []string{"a", "b", "c"} {
				m := p.newMachine(name)
				p.eventually("another second", func() bool { return time.Since(m.CreationTimestamp.Time) > time.Second })
			}
			p.newSet(1, func(s *machinev1beta1.MachineSet) { s.Spec.DeletePolicy = policy })
			p.run(AddMachineSets, onlyGated())
			p.waitForMachines(1)
			if got := p.machineNames(); got[0] != want {
				t.Errorf("%v is left, want %s", got, want)
			}
		})
	}
	t.Run("a mark comes first, and counts on the authority of either API", func(t *testing.T) {
		p := newPlace(t)
		p.newSet(3)
		p.run(AddMachineSets, onlyGated())
		p.waitForMachines(3)
		marked := p.standing()[1]
		p.merge(&marked, true, `{"status": {"authoritativeAPI": "ClusterAPI"}}`)
		p.merge(&marked, false, `{"metadata": {"annotations": {"machine.openshift.io/delete-machine": ""}}}`)
		p.scale(2)
		p.waitForMachines(2)
		if slices.Contains(p.machineNames(), marked.Name) {
			t.Errorf("%s is still there", marked.Name)
		}
	})
}

// TestMachineSetAdopts adopts Machines that match and have no owner, and leaves alone the rest.
func TestMachineSetAdopts(t *testing.T) {
	p := newPlace(t)
	p.newMachine("nobodys")
	p.newMachine("mirror", func(m *machinev1beta1.Machine) { m.Spec.AuthoritativeAPI = "ClusterAPI" })
	p.newMachine("stranger", func(m *machinev1beta1.Machine) { m.Labels["set"] = "others" })
	p.newMachine("anothers", func(m *machinev1beta1.Machine) {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "x", UID: "x", Controller: new(true)}}
	})
	p.run(AddMachineSets, onlyGated())
	set := p.newSet(2)
	p.eventually("the set counts two", func() bool { return p.set().Status.Replicas == 2 })
	p.rests()
	owned := map[string]bool{}
	for _, m := range p.standing() {
		owned[m.Name] = metav1.IsControlledBy(&m, set)
	}
	// The collector takes the one whose owner never was.
	delete(owned, "anothers")
	if diff := cmp.Diff(map[string]bool{"nobodys": true, "mirror": false, "stranger": false}, owned); diff != "" {
		t.Error(diff)
	}
}

// TestMachineSetThatIsBeingDeletedAdoptsNothing: a cache that is behind would have it take in what the collector then deletes.
func TestMachineSetThatIsBeingDeletedAdoptsNothing(t *testing.T) {
	p := newPlace(t)
	set := p.newSet(2, func(s *machinev1beta1.MachineSet) { s.Finalizers = []string{"example.com/hold"} })
	if err := p.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	p.newMachine("nobodys")
	p.run(AddMachineSets, onlyGated())
	p.rests()
	if n := len(p.standing()); n != 1 || p.requests.count("PATCH", "machines") != 0 {
		t.Errorf("%d Machines; requests %v", n, p.requests.changes())
	}
}

// TestMachineSetNeverMakesOneTooMany kills the controllers again and again while they work: each new one begins with what it can see.
func TestMachineSetNeverMakesOneTooMany(t *testing.T) {
	stories.Long(t)
	p := newPlace(t)
	p.newSet(20)
	for _, n := range []int{20, 3, 15} {
		p.scale(n)
		for range 4 {
			begun := len(p.requests.changes())
			stop := p.run(AddMachineSets, onlyGated())
			p.eventually("something happens, or nothing is left to do", func() bool { return len(p.requests.changes()) > begun+2 || len(p.standing()) == n })
			stop()
		}
		stop := p.run(AddMachineSets, onlyGated())
		p.waitForMachines(n)
		p.rests()
		stop()
	}
	// A deletion that was cut off is asked for again, of the same Machine; a creation is not.
	gone := map[string]bool{}
	for _, q := range p.requests.changes() {
		if strings.HasPrefix(q, "DELETE ") {
			gone[q] = true
		}
	}
	if made := p.requests.count("POST", "machines"); made != 20+12 || len(gone) != 17 {
		t.Errorf("created %d and deleted %d, want 32 and 17", made, len(gone))
	}
}

// TestMachineSetMakesManyInBatches: more than one pass creates.
func TestMachineSetMakesManyInBatches(t *testing.T) {
	p := newPlace(t)
	p.run(AddMachineSets, onlyGated())
	p.newSet(70)
	p.waitForMachines(70)
	if made := p.requests.count("POST", "machines"); made != 70 {
		t.Errorf("created %d", made)
	}
}

// TestMachineSetTemplateAuthority: Machines may be Cluster API's from birth, and are scaled down all the same.
func TestMachineSetTemplateAuthority(t *testing.T) {
	p := newPlace(t)
	p.run(AddMachineSets, onlyGated())
	p.newSet(2, func(s *machinev1beta1.MachineSet) { s.Spec.Template.Spec.AuthoritativeAPI = "ClusterAPI" })
	p.waitForMachines(2)
	for _, m := range p.standing() {
		if m.Spec.AuthoritativeAPI != "ClusterAPI" {
			t.Errorf("%s is born with %q", m.Name, m.Spec.AuthoritativeAPI)
		}
	}
	p.scale(1)
	p.waitForMachines(1)
}

// TestMachineSetIsGated: it says which API is authoritative before it acts, pauses, says so also while it is being deleted, and goes on afterwards.
func TestMachineSetIsGated(t *testing.T) {
	p := newPlace(t)
	p.run(AddMachineSets, onlyGated())
	set := p.newSet(1)
	p.waitForMachines(1)
	p.paused(set, "False", "AuthoritativeAPIMachineAPI")

	p.merge(set, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
	p.paused(set, "True", "AuthoritativeAPINotMachineAPI")
	p.merge(set, true, `{"status": {"authoritativeAPI": "ClusterAPI"}}`)
	p.scale(3)
	p.newMachine("nobodys")
	p.paused(set, "True", "AuthoritativeAPINotMachineAPI")
	p.rests()
	if n := len(p.standing()); n != 2 {
		t.Errorf("a paused set has %d Machines, want the 2 that were there", n)
	}
	p.merge(set, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
	p.merge(set, true, `{"status": {"authoritativeAPI": "MachineAPI"}}`)
	p.waitForMachines(3)
	p.paused(set, "False", "AuthoritativeAPIMachineAPI")

	p.merge(set, false, `{"metadata": {"finalizers": ["example.com/hold"]}}`)
	if err := p.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	p.merge(set, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
	p.paused(set, "True", "AuthoritativeAPINotMachineAPI")
	p.merge(set, false, `{"metadata": {"finalizers": null}}`)
	p.eventually("the collector takes the Machines", func() bool { return len(p.standing()) == 0 })
	if made := p.requests.count("POST", "machines"); made != 2 {
		t.Errorf("created %d, want 2: a set that goes replaces nothing", made)
	}
}

func (p *place) paused(set *machinev1beta1.MachineSet, status corev1.ConditionStatus, reason string) {
	p.Helper()
	p.eventually(fmt.Sprintf("Paused is %s", status), func() bool {
		now := p.set()
		for _, c := range now.Status.Conditions {
			if c.Type == "Paused" {
				return c.Status == status && c.Reason == reason && strings.Contains(c.Message, string(now.Status.AuthoritativeAPI))
			}
		}
		return false
	})
}

// TestMachineSetWithItsGateOff acts as it always did, whatever the status says, and says nothing about it.
func TestMachineSetWithItsGateOff(t *testing.T) {
	p := newPlace(t)
	set := p.newSet(2, func(s *machinev1beta1.MachineSet) { s.Spec.AuthoritativeAPI = "ClusterAPI" })
	p.merge(set, true, `{"status": {"authoritativeAPI": "ClusterAPI"}}`)
	p.run(AddMachineSets, Options{})
	p.waitForMachines(2)
	if conditions := p.set().Status.Conditions; len(conditions) != 0 {
		t.Errorf("it says %v", conditions)
	}
}

// TestMachineSetThatIsInvalid says so once, does nothing, keeps saying it while it is paused, and recovers.
func TestMachineSetThatIsInvalid(t *testing.T) {
	stories.Long(t)
	p := newPlace(t)
	p.run(AddMachineSets, onlyGated())
	set := p.newSet(2, func(s *machinev1beta1.MachineSet) { s.Spec.Template.Labels = map[string]string{"set": "others"} })
	wrong := func() bool {
		s := p.set().Status
		return s.ErrorReason != nil && *s.ErrorReason == "InvalidConfiguration" && s.ErrorMessage != nil &&
			strings.Contains(*s.ErrorMessage, "spec.template.metadata.labels")
	}
	p.eventually("the set says what is wrong", wrong)
	p.idle(func() { p.merge(set, false, `{"metadata": {"labels": {"poke": "1"}}}`) })
	p.merge(set, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
	p.paused(set, "True", "AuthoritativeAPINotMachineAPI")
	if !wrong() || len(p.standing()) != 0 {
		t.Errorf("%d Machines, status %+v", len(p.standing()), p.set().Status)
	}
	p.merge(set, true, `{"status": {"authoritativeAPI": "MachineAPI"}}`)
	p.eventually("it is told once", func() bool { return p.reasons(set)["InvalidConfiguration"] == 1 })
	p.merge(set, false, `{"spec": {"template": {"metadata": {"labels": {"set": "workers"}}}}}`)
	p.waitForMachines(2)
	if s := p.set().Status; s.ErrorReason != nil || s.ErrorMessage != nil {
		t.Errorf("it still says %v", *s.ErrorMessage)
	}
}

// TestMachineSetNumbers: ready and available follow the Nodes, available also the clock, whichever API is authoritative for the Machine.
func TestMachineSetNumbers(t *testing.T) {
	stories.Long(t)
	p := newPlace(t)
	p.run(AddMachineSets, onlyGated())
	p.newSet(3, func(s *machinev1beta1.MachineSet) { s.Spec.MinReadySeconds = 3 })
	p.waitForMachines(3)
	numbers := func(labeled, ready, available int32) {
		t.Helper()
		p.eventually(fmt.Sprintf("%d labeled, %d ready, %d available", labeled, ready, available), func() bool {
			s := p.set().Status
			return s.Replicas == 3 && s.FullyLabeledReplicas == labeled && s.ReadyReplicas == ready && s.AvailableReplicas == available
		})
	}
	numbers(3, 0, 0)
	machines := p.standing()
	p.merge(&machines[1], true, `{"status": {"authoritativeAPI": "ClusterAPI"}}`)
	first, second := p.newNode(&machines[0]), p.newNode(&machines[1])
	numbers(3, 2, 2)
	p.reportCondition(second, "Ready", "Unknown", time.Now())
	numbers(3, 1, 1)
	p.reportCondition(second, "Ready", "True", time.Now().Add(time.Second))
	numbers(3, 2, 1)
	numbers(3, 2, 2) // nothing but time has passed
	p.merge(&machines[2], false, `{"metadata": {"labels": {"more": "other"}}}`)
	numbers(2, 2, 2)
	if err := p.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	numbers(2, 1, 1)
	p.idle(func() { p.reportCondition(second, "Ready", "True", time.Now().Add(-time.Hour)) })
}

// TestTwoMachineSetsWithOneSelector: each Machine gets one controller, neither set takes the other's, and none is deleted.
func TestTwoMachineSetsWithOneSelector(t *testing.T) {
	p := newPlace(t)
	for i := range 5 {
		p.newMachine(fmt.Sprint("orphan-", i))
	}
	p.run(AddMachineSets, onlyGated())
	p.newSet(3, func(s *machinev1beta1.MachineSet) { s.Name = "a" })
	p.newSet(4, func(s *machinev1beta1.MachineSet) { s.Name = "b" })
	owners := func() map[string]int {
		out := map[string]int{}
		for _, m := range p.machines() {
			name := ""
			if owner := metav1.GetControllerOf(&m); owner != nil {
				name = owner.Name
			}
			out[name]++
		}
		return out
	}
	p.eventually("each has its number", func() bool { o := owners(); return o["a"] == 3 && o["b"] == 4 && len(o) == 2 })
	p.rests()
	if o := owners(); o["a"] != 3 || o["b"] != 4 || p.requests.count("DELETE", "machines") != 0 || p.requests.count("POST", "machines") != 2 {
		t.Errorf("%v: %v", o, p.requests.changes())
	}
}
