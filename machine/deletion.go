// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/poundlock/poundlock/internal/machineapi"
)

// ExcludeDrainAnnotation on a Machine, with any value, has the Machine deleted without draining its Node.
const ExcludeDrainAnnotation = machineapi.ExcludeDrainAnnotation

// Reasons of conditions that the published API has no names for.
const (
	ReasonCreating     = "Creating"
	ReasonOwnNode      = "ControllerRunsHere"
	ReasonControlPlane = "WaitingForControlPlane"
	ReasonDraining     = "Draining"
	ReasonDrained      = "Drained"
	ReasonDrainSkipped = "DrainSkipped"
	ReasonNoNode       = "NoNode"
	// ReasonInstanceShared: another Machine names the same instance.
	ReasonInstanceShared = "InstanceShared"
)

// HasFinalizer reports whether the Machine has the Machine controller's finalizer. The controller calls no provider before the Machine has the finalizer.
func HasFinalizer(m *machinev1beta1.Machine) bool {
	return slices.Contains(m.Finalizers, machinev1beta1.MachineFinalizer)
}

// Drainable returns the condition that says whether the Machine's lifecycle hooks let its Node be drained. The condition has no transition time yet.
func Drainable(m *machinev1beta1.Machine) machinev1beta1.Condition {
	return hooked(machinev1beta1.MachineDrainable, "The drain of the Machine's Node", "preDrain", m.Spec.LifecycleHooks.PreDrain)
}

// Terminable returns the condition that says whether the Machine's lifecycle hooks let its instance be removed. The condition has no transition time yet.
func Terminable(m *machinev1beta1.Machine) machinev1beta1.Condition {
	return hooked(machinev1beta1.MachineTerminable, "The termination of the Machine's instance", "preTerminate", m.Spec.LifecycleHooks.PreTerminate)
}

func hooked(kind machinev1beta1.ConditionType, what, list string, hooks []machinev1beta1.LifecycleHook) machinev1beta1.Condition {
	if len(hooks) == 0 {
		return True(kind, "", "")
	}
	var names []string
	for _, h := range hooks {
		names = append(names, fmt.Sprintf("%s (owner %s)", h.Name, h.Owner))
	}
	return False(kind, machinev1beta1.ConditionSeverityWarning, machinev1beta1.MachineHookPresent,
		"%s waits until the owner of each hook removes it from spec.lifecycleHooks.%s: %s", what, list, strings.Join(names, ", "))
}

// ExcludesDrain reports whether the Machine is to be deleted without a drain.
func ExcludesDrain(m *machinev1beta1.Machine) bool {
	_, excluded := m.Annotations[ExcludeDrainAnnotation]
	return excluded
}

// DrainBegun reports whether the drain of the Machine's Node has begun. A drain that is complete counts as begun.
func DrainBegun(m *machinev1beta1.Machine) bool {
	c := condition(m, machinev1beta1.MachineDrained)
	return !m.DeletionTimestamp.IsZero() && c.Status != "" && c.Reason != ReasonControlPlane
}

// ControlPlane reports whether a Node belongs to the control plane.
func ControlPlane(n *corev1.Node) bool {
	_, now := n.Labels[machineapi.ControlPlaneRole]
	_, once := n.Labels[machineapi.MasterRole]
	return now || once
}

// Unreachable reports whether a Node's kubelet no longer reports: the Node's condition Ready is Unknown. Then nothing reports that the Node's pods have ended.
func Unreachable(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}

// True returns a condition of a type with the status True. It has no transition time yet.
func True(kind machinev1beta1.ConditionType, reason, message string) machinev1beta1.Condition {
	return machinev1beta1.Condition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}
}

// False returns a condition of a type with the status False. It has no transition time yet.
func False(kind machinev1beta1.ConditionType, severity machinev1beta1.ConditionSeverity, reason, format string, args ...any) machinev1beta1.Condition {
	return machinev1beta1.Condition{Type: kind, Status: corev1.ConditionFalse, Severity: severity, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
