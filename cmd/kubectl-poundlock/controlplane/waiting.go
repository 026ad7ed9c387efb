// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"

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
		return m.DeletionWaitsFor()
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

func reasonOf(m *machinev1beta1.Machine) string {
	if m.Status.ErrorMessage != nil && *m.Status.ErrorMessage != "" {
		return *m.Status.ErrorMessage
	}
	return "status.errorMessage is empty"
}

func nodeState(v controlplane.View, name string) string {
	if !slices.ContainsFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == name }) {
		return fmt.Sprintf("its Node %s does not exist, or does not have the control plane's role", name)
	}
	return fmt.Sprintf("its Node %s is not Ready", name)
}
