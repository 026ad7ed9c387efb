// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/machine"
)

// edit is one thing that a Machine says; a Machine of a table is the sum of some.
type edit func(*machinev1beta1.Machine)

func machineThat(edits ...edit) *machinev1beta1.Machine {
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one"}}
	for _, e := range edits {
		e(m)
	}
	return m
}

func inPhase(phase string) edit {
	return func(m *machinev1beta1.Machine) { m.Status.Phase = &phase }
}

func says(kind machinev1beta1.ConditionType, status corev1.ConditionStatus) edit {
	return saysSince(kind, status, time.Time{})
}

func saysSince(kind machinev1beta1.ConditionType, status corev1.ConditionStatus, since time.Time) edit {
	return func(m *machinev1beta1.Machine) {
		m.Status.Conditions = append(m.Status.Conditions, machinev1beta1.Condition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(since)})
	}
}

func withProviderID(id string) edit {
	return func(m *machinev1beta1.Machine) { m.Spec.ProviderID = &id }
}

func withAddress(kind corev1.NodeAddressType, address string) edit {
	return func(m *machinev1beta1.Machine) {
		m.Status.Addresses = append(m.Status.Addresses, corev1.NodeAddress{Type: kind, Address: address})
	}
}

func withNode(name string) edit {
	return func(m *machinev1beta1.Machine) { m.Status.NodeRef = &corev1.ObjectReference{Name: name} }
}

func deleted(m *machinev1beta1.Machine)   { m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
func held(m *machinev1beta1.Machine)      { m.Finalizers = []string{"x", machinev1beta1.MachineFinalizer} }
func withError(m *machinev1beta1.Machine) { m.Status.ErrorMessage = new("broken") }
func withReason(m *machinev1beta1.Machine) {
	m.Status.ErrorReason = new(machinev1beta1.CreateMachineError)
}
func withStatus(m *machinev1beta1.Machine) {
	m.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"conditions":[{"type":"MachineCreation","status":"False"}]}`)}
}

var seen = says(machinev1beta1.InstanceExistsCondition, corev1.ConditionTrue)

func TestPhase(t *testing.T) {
	for name, c := range map[string]struct {
		m    *machinev1beta1.Machine
		want string
	}{
		"a Machine for which nothing was asked has none":          {machineThat(), ""},
		"one whose creation is intended keeps that":               {machineThat(inPhase("Provisioning")), "Provisioning"},
		"one with an instance that nothing is known of":           {machineThat(seen), "Provisioning"},
		"one with an instance and its provider ID":                {machineThat(seen, withProviderID("a://1")), "Provisioned"},
		"one with an instance and its addresses":                  {machineThat(seen, withAddress(corev1.NodeInternalIP, "10.0.0.1")), "Provisioned"},
		"one with an instance and a Node":                         {machineThat(seen, withProviderID("a://1"), withNode("n")), "Running"},
		"one whose provider does not answer stays what it was":    {machineThat(says(machinev1beta1.InstanceExistsCondition, corev1.ConditionUnknown), withProviderID("a://1"), withNode("n"), inPhase("Running")), "Running"},
		"one with a provider ID whose instance was never seen":    {machineThat(inPhase("Provisioning"), withProviderID("a://1")), "Provisioning"},
		"one with an error has failed":                            {machineThat(seen, withError, withNode("n")), "Failed"},
		"one that has failed stays so, though the error is wiped": {machineThat(seen, inPhase("Failed"), withNode("n")), "Failed"},
		"one that is deleted says so, though it has failed":       {machineThat(deleted, withReason, inPhase("Failed")), "Deleting"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := machine.Phase(c.m); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestNext(t *testing.T) {
	now := time.Unix(1000, 0)
	created := func(ago time.Duration) edit {
		return saysSince(machinev1beta1.MachineCreated, corev1.ConditionTrue, now.Add(-ago))
	}
	for name, c := range map[string]struct {
		m      *machinev1beta1.Machine
		exists bool
		want   machine.Move
	}{
		"what exists is updated":                                     {machineThat(), true, machine.Update},
		"what exists is updated, though it failed to be created":     {machineThat(says(machinev1beta1.MachineCreated, corev1.ConditionFalse)), true, machine.Update},
		"a new Machine gets its instance":                            {machineThat(), false, machine.Create},
		"one whose creation is intended, too":                        {machineThat(inPhase("Provisioning")), false, machine.Create},
		"one whose creation failed, though the actuator says why":    {machineThat(inPhase("Provisioning"), withStatus, says(machinev1beta1.MachineCreated, corev1.ConditionFalse)), false, machine.Create},
		"one that names its instance never gets a second":            {machineThat(withProviderID("a://1")), false, machine.GiveUp},
		"an empty provider ID names none":                            {machineThat(withProviderID("")), false, machine.Create},
		"one with addresses had an instance":                         {machineThat(withAddress(corev1.NodeExternalIP, "1.2.3.4")), false, machine.GiveUp},
		"one with a Node had one":                                    {machineThat(withNode("n")), false, machine.GiveUp},
		"one that is past Provisioning had one":                      {machineThat(inPhase("Provisioned")), false, machine.GiveUp},
		"one that ran had one":                                       {machineThat(inPhase("Running")), false, machine.GiveUp},
		"one whose instance was seen had one":                        {machineThat(seen), false, machine.GiveUp},
		"one just created is waited for":                             {machineThat(withProviderID("a://1"), created(machine.Grace-time.Second)), false, machine.Await},
		"but not for ever":                                           {machineThat(withProviderID("a://1"), created(machine.Grace)), false, machine.GiveUp},
		"one just created, seen, and gone is gone":                   {machineThat(withProviderID("a://1"), created(time.Second), seen), false, machine.GiveUp},
		"one created long ago whose provider did not answer lately":  {machineThat(created(time.Hour), says(machinev1beta1.InstanceExistsCondition, corev1.ConditionUnknown)), false, machine.GiveUp},
		"one that was created, and said so, gets no second instance": {machineThat(created(time.Hour)), false, machine.GiveUp},
	} {
		t.Run(name, func(t *testing.T) {
			if got := machine.Next(c.m, c.exists, now); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if is := machine.Existence(c.want).Status == corev1.ConditionTrue; is != c.exists {
				t.Errorf("the condition says %t of what Exists answered %t", is, c.exists)
			}
		})
	}
}

// OpenShift's controllers store the same status, severity and reason.
func TestExistence(t *testing.T) {
	for move, want := range map[machine.Move]machinev1beta1.Condition{
		machine.Update: {Status: corev1.ConditionTrue},
		machine.Create: {Status: corev1.ConditionFalse, Severity: machinev1beta1.ConditionSeverityWarning, Reason: machinev1beta1.InstanceNotCreatedReason},
		machine.GiveUp: {Status: corev1.ConditionFalse, Severity: machinev1beta1.ConditionSeverityWarning, Reason: machinev1beta1.InstanceMissingReason},
	} {
		got := machine.Existence(move)
		got.Message = ""
		if want.Type = machinev1beta1.InstanceExistsCondition; got != want {
			t.Errorf("%s: %+v, want %+v", move, got, want)
		}
	}
}

func TestCreationOpen(t *testing.T) {
	for name, c := range map[string]struct {
		m    *machinev1beta1.Machine
		want bool
	}{
		"intended, and no end known":                          {machineThat(held, inPhase("Provisioning")), true},
		"the same of one that is deleted meanwhile":           {machineThat(held, deleted, inPhase("Deleting")), true},
		"the same where the last attempt failed":              {machineThat(held, inPhase("Provisioning"), says(machinev1beta1.MachineCreated, corev1.ConditionFalse)), true},
		"not intended":                                        {machineThat(held), false},
		"never in this controller's hands: a mirror":          {machineThat(inPhase("Provisioning")), false},
		"its instance is known":                               {machineThat(held, inPhase("Provisioning"), withProviderID("a://1")), false},
		"its instance was seen, and nobody knows which it is": {machineThat(held, inPhase("Provisioning"), seen), true},
		"it has a Node":                                       {machineThat(held, inPhase("Provisioning"), withNode("n")), false},
		"failed for good: nothing is asked for any more":      {machineThat(held, withError, inPhase("Failed")), false},
		"deleted, with an instance that is known":             {machineThat(held, deleted, inPhase("Deleting"), withProviderID("a://1")), false},
		"deleted while Cluster API was to make it: a phase":   {machineThat(deleted, inPhase("Deleting")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := machine.CreationOpen(c.m); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

func TestOpenUntil(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		m     *machinev1beta1.Machine
		want  time.Time
		known bool
	}{
		"nobody says when it was asked for": {machineThat(), time.Time{}.Add(machine.Grace), false},
		"the call may be under way":         {machineThat(saysSince(machinev1beta1.MachineCreated, corev1.ConditionUnknown, at)), at.Add(time.Hour + machine.Grace), true},
		"the call has failed":               {machineThat(saysSince(machinev1beta1.MachineCreated, corev1.ConditionFalse, at)), at.Add(machine.Grace), true},
		"the call was answered":             {machineThat(saysSince(machinev1beta1.MachineCreated, corev1.ConditionTrue, at)), at.Add(machine.Grace), true},
	} {
		t.Run(name, func(t *testing.T) {
			if until, known := machine.OpenUntil(c.m, time.Hour); known != c.known || !until.Equal(c.want) {
				t.Errorf("%v %t, want %v %t", until, known, c.want, c.known)
			}
		})
	}
}
