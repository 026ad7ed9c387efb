// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/poundlock/poundlock/policies/controlplane"
)

func phase(m *machinev1beta1.Machine) string {
	if m.Status.Phase == nil {
		return ""
	}
	return *m.Status.Phase
}

func nodeOf(m *machinev1beta1.Machine) string {
	if m.Status.NodeRef == nil {
		return ""
	}
	return m.Status.NodeRef.Name
}

// waitsFor returns why a Machine with a deletion timestamp is not deleted yet, or why any other Machine is not ready.
func waitsFor(v controlplane.View, m controlplane.MachineState) []string {
	switch o := m.Machine(); {
	case m.Deleting:
		return held(o)
	case m.Failed:
		return []string{"it has failed: " + reasonOf(o)}
	case m.Ready:
		return nil
	case nodeOf(o) == "":
		return []string{"it has no Node yet" + m.Unmade()}
	case phase(o) != machinev1beta1.PhaseRunning:
		return []string{"its phase is not Running"}
	default:
		return []string{nodeState(v, nodeOf(o))}
	}
}

// held are the hooks that block a Machine's deletion: those before the drain or, once it is drained, those before the termination of its instance.
func held(m *machinev1beta1.Machine) []string {
	var out []string
	for _, h := range m.Spec.LifecycleHooks.PreDrain {
		out = append(out, hook("preDrain", h))
	}
	if len(out) > 0 {
		return out
	}
	if !drained(m) {
		out = append(out, "its Node to be drained")
	}
	for _, h := range m.Spec.LifecycleHooks.PreTerminate {
		out = append(out, hook("preTerminate", h))
	}
	if len(out) == 0 && len(m.Finalizers) > 0 {
		out = append(out, "the finalizers "+strings.Join(m.Finalizers, ", "))
	}
	return out
}

func hook(kind string, h machinev1beta1.LifecycleHook) string {
	return fmt.Sprintf("%s hook %s of %s", kind, h.Name, h.Owner)
}

// drained reports whether the Machine has the condition Drained, or has no Node.
func drained(m *machinev1beta1.Machine) bool {
	return nodeOf(m) == "" || slices.ContainsFunc(m.Status.Conditions, func(c machinev1beta1.Condition) bool {
		return c.Type == machinev1beta1.MachineDrained && c.Status == corev1.ConditionTrue
	})
}

func reasonOf(m *machinev1beta1.Machine) string {
	if m.Status.ErrorMessage != nil && *m.Status.ErrorMessage != "" {
		return *m.Status.ErrorMessage
	}
	return "status.errorMessage does not say why"
}

func nodeState(v controlplane.View, name string) string {
	if !slices.ContainsFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == name }) {
		return fmt.Sprintf("its Node %s does not exist, or has no role of the control plane", name)
	}
	return fmt.Sprintf("its Node %s is not Ready", name)
}
