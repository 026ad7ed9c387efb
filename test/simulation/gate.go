// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// gate is what each of Machine API's controllers does before anything else: it takes a new object's authority from
// its spec, and acknowledges in a condition whether it stays away. act says whether it may go on; what it changed
// in status is written first.
func gate(requested machinev1beta1.MachineAuthority, current *machinev1beta1.MachineAuthority, conditions *[]machinev1beta1.Condition) (act bool) {
	switch *current {
	case "":
		*current = requested
		return false
	case machinev1beta1.MachineAuthorityMachineAPI:
		setCondition(conditions, pausedBy(*current, corev1.ConditionFalse, "AuthoritativeAPIMachineAPI"))
		return true
	}
	setCondition(conditions, pausedBy(*current, corev1.ConditionTrue, "AuthoritativeAPINotMachineAPI"))
	return false
}

func pausedBy(current machinev1beta1.MachineAuthority, status corev1.ConditionStatus, reason string) machinev1beta1.Condition {
	return machinev1beta1.Condition{
		Type: authority.ConditionPaused, Status: status, Reason: reason,
		Message: fmt.Sprintf("The AuthoritativeAPI status is set to '%s'", current),
	}
}

// setCondition adds or replaces the condition of its type; one that says the same already stays as it is.
func setCondition(conditions *[]machinev1beta1.Condition, c machinev1beta1.Condition) {
	c.LastTransitionTime = metav1.Now().Rfc3339Copy()
	for i, old := range *conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		(*conditions)[i] = c
		return
	}
	*conditions = append(*conditions, c)
}
