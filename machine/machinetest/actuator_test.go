// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/machine"
)

func newActuator(w world) *Actuator {
	return &Actuator{Cloud: w.mapi(), ListedWithin: lag, Now: w.clock.Now}
}

func TestWhatTheActuatorReports(t *testing.T) {
	w := newWorld(t, Options{}, false)
	a, m := newActuator(w), aMachine("worker-1", "uid-1", plain)
	ok(t, a.Create(t.Context(), m))
	if _, waits := machine.AsRequeueAfter(a.Update(t.Context(), m)); !waits {
		t.Error("Update does not ask to be called again while the instance boots")
	}
	w.clock.pass(2 * time.Second)
	ok(t, a.Update(t.Context(), m))
	all, err := w.Instances(t.Context())
	ok(t, err)
	i := all[0]
	if diff := cmp.Diff("us-east-1b m6i.large ami-1 uid-1", i.Zone+" "+i.Type+" "+i.Image+" "+i.Token); diff != "" {
		t.Errorf("asked for:\n%s", diff)
	}
	id, state := i.ProviderID(), "running"
	want := aMachine("worker-1", "uid-1", plain)
	want.Labels = map[string]string{
		"machine.openshift.io/region": "us-east-1", "machine.openshift.io/zone": "us-east-1b", "machine.openshift.io/instance-type": "m6i.large",
	}
	want.Annotations = map[string]string{"machine.openshift.io/instance-state": state}
	want.Spec.ProviderID = &id
	want.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: i.IP()}, {Type: corev1.NodeInternalDNS, Address: i.DNS()}, {Type: corev1.NodeHostName, Address: i.DNS()},
	}
	got := m.DeepCopy()
	got.Status.ProviderStatus = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantStatus := &machinev1beta1.AWSMachineProviderStatus{
		TypeMeta:   metav1.TypeMeta{APIVersion: "machine.openshift.io/v1beta1", Kind: "AWSMachineProviderStatus"},
		InstanceID: &i.ID, InstanceState: &state,
		Conditions: []metav1.Condition{{
			Type: "MachineCreation", Status: "True", Reason: "MachineCreationSucceeded", Message: "Machine successfully created",
			LastTransitionTime: awsStatus(t, m).Conditions[0].LastTransitionTime,
		}},
	}
	if diff := cmp.Diff(wantStatus, awsStatus(t, m)); diff != "" {
		t.Error(diff)
	}
}

func awsStatus(t *testing.T, m *machinev1beta1.Machine) *machinev1beta1.AWSMachineProviderStatus {
	t.Helper()
	status := &machinev1beta1.AWSMachineProviderStatus{}
	if err := json.Unmarshal(m.Status.ProviderStatus.Raw, status); err != nil {
		t.Fatal(err)
	}
	return status
}

// An instance that Cluster API made, or that has outlived the spec that it was asked for with, is looked after all the same.
func TestAnInstanceOutlivesItsProviderSpec(t *testing.T) {
	w := newWorld(t, Options{}, false)
	a, m := newActuator(w), aMachine("worker-1", "uid-1", plain)
	ok(t, a.Create(t.Context(), m))
	w.clock.pass(lag)
	m.Spec.ProviderSpec.Value.Raw = []byte(`{`)
	ok(t, a.Update(t.Context(), m))
	if _, waits := machine.AsRequeueAfter(a.Delete(t.Context(), m)); !waits {
		t.Error("Delete does not wait")
	}
	w.clock.pass(lag)
	ok(t, a.Delete(t.Context(), m))
}

// A second Create for a Machine makes a second instance.
func TestAMachineGetsOneInstanceInItsLife(t *testing.T) {
	w := newWorld(t, Options{}, false)
	a, m := newActuator(w), aMachine("worker-1", "uid-1", plain)
	ok(t, a.Create(t.Context(), m))
	ok(t, w.Act(t.Context(), InstanceID(*m.Spec.ProviderID), End))
	w.clock.pass(lag)
	for what, m := range map[string]*machinev1beta1.Machine{
		"as it is stored":                         m,
		"from an old cache":                       aMachine("worker-1", "uid-1", plain),
		"that names what the cloud has forgotten": withProviderID(aMachine("worker-1", "uid-1", plain), "aws:///us-east-1b/i-0"),
	} {
		err := a.Create(t.Context(), m)
		if terminal, is := machine.AsTerminal(err); !is || terminal.Reason != machinev1beta1.CreateMachineError {
			t.Errorf("Create() of a Machine %s = %v, want a terminal error", what, err)
		}
	}
	if all, _ := w.Instances(t.Context()); len(all) != 1 {
		t.Errorf("%d instances", len(all))
	}
}

func withProviderID(m *machinev1beta1.Machine, id string) *machinev1beta1.Machine {
	m.Spec.ProviderID = &id
	return m
}

// Others write to the provider's status too, in their own order of keys; what cannot be read says nothing.
func TestTheProvidersStatusIsWrittenOnlyWhenItDiffers(t *testing.T) {
	w := newWorld(t, Options{}, false)
	a, m := newActuator(w), aMachine("worker-1", "uid-1", plain)
	m.Status.ProviderStatus = &kruntime.RawExtension{Raw: []byte(`"garbage"`)}
	ok(t, a.Create(t.Context(), m))
	w.clock.pass(lag)
	ok(t, a.Update(t.Context(), m))
	m.Status.ProviderStatus.Raw = append([]byte("  "), m.Status.ProviderStatus.Raw...)
	before := string(m.Status.ProviderStatus.Raw)
	ok(t, a.Update(t.Context(), m))
	if after := string(m.Status.ProviderStatus.Raw); after != before {
		t.Errorf("was %s\nis  %s", before, after)
	}
}
