// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// troubles are words that occur in a provider's reason if an instance cannot be created, or has ended. Providers' other reasons, such as
// WaitingForBootstrapData, InstanceNotReady and Cloning, are for a Machine whose instance is still being created.
var troubles = []string{"Fail", "Error", "Invalid", "Misconfigured", "Unauthorized", "Unreachable", "Terminated", "Stopped"}

// Fails reports whether a provider's reason means that an instance cannot be created, or has ended.
func Fails(reason string) bool {
	return slices.ContainsFunc(troubles, func(word string) bool { return strings.Contains(reason, word) })
}

// Troubled returns the condition by which an API's controllers report that the API's Machine o has no instance, and why. It returns the zero Condition if the
// controllers do not report that, if the kind is not that of Machines, and if the Machine is being deleted.
func Troubled(k Kind, api API, o *policies.Object) Condition {
	if o == nil || !k.InfraActs() || o.Deleting() {
		return Condition{}
	}
	switch api {
	case ClusterAPI:
		c := ConditionOf(o, clusterv1.MachineInfrastructureReadyCondition)
		if c.Status == metav1.ConditionFalse && (Fails(c.Reason) || c.Reason == clusterv1.MachineInfrastructureDeletedReason) {
			return c
		}
	case MachineAPI:
		if c := Read(o).Condition(string(machinev1beta1.MachineCreated)); c.Status == metav1.ConditionFalse && c.Reason != "" && c.Message != "" {
			return c
		}
	case Unset, Migrating:
	}
	return Condition{}
}
