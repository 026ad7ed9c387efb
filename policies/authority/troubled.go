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

// troubles are words in the reasons of providers for an instance that cannot be created, or has ended. Their other reasons, such as WaitingForBootstrapData,
// InstanceNotReady and Cloning, are those of a Machine on its way.
var troubles = []string{"Fail", "Error", "Invalid", "Misconfigured", "Unauthorized", "Unreachable", "Terminated", "Stopped"}

// Fails reports whether a provider's reason is that of an instance which cannot be created, or has ended.
func Fails(reason string) bool {
	return slices.ContainsFunc(troubles, func(word string) bool { return strings.Contains(reason, word) })
}

// Troubled is the condition by which the controllers of an API report of its Machine that it has no instance, and why. It is the zero Condition where nothing
// is reported, for other kinds, and for a Machine that is being deleted.
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
