// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// Phase returns the phase that a Machine has reached, from its own spec and status. What is unknown changes no phase. If a provider does not answer, a
// Running Machine stays Running, and a Machine for which nothing was requested yet has no phase.
func Phase(m *machinev1beta1.Machine) string {
	switch {
	case !m.DeletionTimestamp.IsZero():
		return machinev1beta1.PhaseDeleting
	case Failed(m):
		return machinev1beta1.PhaseFailed
	case !Seen(m):
		return phase(m)
	case m.Status.NodeRef != nil:
		return machinev1beta1.PhaseRunning
	case identified(m):
		return machinev1beta1.PhaseProvisioned
	}
	return machinev1beta1.PhaseProvisioning
}

// Failed reports whether the Machine has an error that no repetition fixes. It stays failed until it is deleted: a Machine whose fault was fixed may have
// left something behind, and a new Machine has not.
func Failed(m *machinev1beta1.Machine) bool {
	return m.Status.ErrorReason != nil || m.Status.ErrorMessage != nil || phase(m) == machinev1beta1.PhaseFailed
}

// Seen reports whether Exists has answered true when it was last asked.
func Seen(m *machinev1beta1.Machine) bool {
	return condition(m, machinev1beta1.InstanceExistsCondition).Status == corev1.ConditionTrue
}

// Known reports whether the Machine has ever had a known instance: then it must never get another one.
//
// status.providerStatus does not count. It is the provider's own, and actuators write there why a creation failed: a Machine that waits for capacity would be
// taken for one that has lost its instance.
func Known(m *machinev1beta1.Machine) bool {
	switch phase(m) {
	case machinev1beta1.PhaseProvisioned, machinev1beta1.PhaseRunning:
		return true
	}
	return identified(m) || m.Status.NodeRef != nil || Seen(m) ||
		condition(m, machinev1beta1.MachineCreated).Status == corev1.ConditionTrue
}

// CreationOpen reports whether Create may have been called and its result is unknown. The phase is stored before the call, and the result after it. Without
// the phase there was no call, and without the finalizer there is none.
func CreationOpen(m *machinev1beta1.Machine) bool {
	switch phase(m) {
	case machinev1beta1.PhaseProvisioning, machinev1beta1.PhaseDeleting:
		return HasFinalizer(m) && !identified(m) && m.Status.NodeRef == nil
	}
	return false
}

// OpenUntil returns until when an open creation may still show an instance: a call takes no longer than call, and a provider no longer than Grace to show
// what it created. The time is unknown if the Machine lacks the time of the last call of Create.
func OpenUntil(m *machinev1beta1.Machine, call time.Duration) (_ time.Time, known bool) {
	c := condition(m, machinev1beta1.MachineCreated)
	until := c.LastTransitionTime.Add(Grace)
	if c.Status == corev1.ConditionUnknown {
		until = until.Add(call)
	}
	return until, c.Status != ""
}

// Creating is the condition MachineCreated of a Machine whose Create is about to be called; it has no time.
func Creating() machinev1beta1.Condition {
	return machinev1beta1.Condition{
		Type: machinev1beta1.MachineCreated, Status: corev1.ConditionUnknown, Reason: ReasonCreating,
		Message: "Poundlock has asked the provider for the instance, and the provider has not answered yet",
	}
}

// identified reports whether the provider has named the instance.
func identified(m *machinev1beta1.Machine) bool {
	return providerID(m) != "" || len(m.Status.Addresses) > 0
}

func phase(m *machinev1beta1.Machine) string {
	if m.Status.Phase == nil {
		return ""
	}
	return *m.Status.Phase
}

func providerID(m *machinev1beta1.Machine) string {
	if m.Spec.ProviderID == nil {
		return ""
	}
	return *m.Spec.ProviderID
}

func condition(m *machinev1beta1.Machine, kind machinev1beta1.ConditionType) machinev1beta1.Condition {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return machinev1beta1.Condition{}
}
