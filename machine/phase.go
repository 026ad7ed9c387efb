// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// Phase returns the phase that a Machine has reached, from the Machine's spec and status. If it is unknown whether the instance exists, the phase stays. So if
// a provider does not answer, a Running Machine stays Running, and a Machine for which nothing was requested yet has no phase.
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

// Failed reports whether the Machine has an error that no repetition fixes. Such a Machine stays failed until it is deleted, even if the fault is fixed: it may
// have left something behind, which a new Machine has not.
func Failed(m *machinev1beta1.Machine) bool {
	return m.Status.ErrorReason != nil || m.Status.ErrorMessage != nil || phase(m) == machinev1beta1.PhaseFailed
}

// Seen reports whether Exists returned true when it was last called.
func Seen(m *machinev1beta1.Machine) bool {
	return condition(m, machinev1beta1.InstanceExistsCondition).Status == corev1.ConditionTrue
}

// Known reports whether the Machine has ever had a known instance. If it has, it must never get another one.
//
// status.providerStatus does not count. It belongs to the provider, and actuators write there why a creation failed. If it counted, a Machine that waits for
// capacity would be mistaken for one that has lost its instance.
func Known(m *machinev1beta1.Machine) bool {
	switch phase(m) {
	case machinev1beta1.PhaseProvisioned, machinev1beta1.PhaseRunning:
		return true
	}
	return identified(m) || m.Status.NodeRef != nil || Seen(m) ||
		condition(m, machinev1beta1.MachineCreated).Status == corev1.ConditionTrue
}

// CreationOpen reports whether Create may have been called and its result is unknown. The controller stores the phase before the call, and the result after it.
// So without the phase there was no call. Without the finalizer there was no call either.
func CreationOpen(m *machinev1beta1.Machine) bool {
	switch phase(m) {
	case machinev1beta1.PhaseProvisioning, machinev1beta1.PhaseDeleting:
		return HasFinalizer(m) && !identified(m) && m.Status.NodeRef == nil
	}
	return false
}

// OpenUntil returns the time until which an open creation (CreationOpen) may still show an instance. It assumes that a call of Create takes no longer than
// "call", and that a provider takes no longer than Grace to show what it created. known is false if the Machine lacks the time of the last call of Create.
func OpenUntil(m *machinev1beta1.Machine, call time.Duration) (_ time.Time, known bool) {
	c := condition(m, machinev1beta1.MachineCreated)
	until := c.LastTransitionTime.Add(Grace)
	if c.Status == corev1.ConditionUnknown {
		until = until.Add(call)
	}
	return until, c.Status != ""
}

// Creating returns the condition MachineCreated of a Machine whose Create is about to be called. The condition has no transition time yet.
func Creating() machinev1beta1.Condition {
	return machinev1beta1.Condition{
		Type: machinev1beta1.MachineCreated, Status: corev1.ConditionUnknown, Reason: ReasonCreating,
		Message: "Poundlock has asked the provider for the instance, and the provider has not answered yet",
	}
}

// identified reports whether the provider has identified the instance, by a provider ID or by addresses.
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
