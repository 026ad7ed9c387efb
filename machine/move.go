// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// Move is what the Machine controller does about a Machine's instance once Exists has answered.
type Move string

// The moves.
const (
	// Create asks the provider for the instance.
	Create Move = "Create"
	// Update reads the state of the instance.
	Update Move = "Update"
	// Await asks again a little later: the provider has accepted the creation, and does not show the instance yet.
	Await Move = "Await"
	// GiveUp fails the Machine, because its instance is gone and a Machine never gets a second one.
	GiveUp Move = "GiveUp"
)

// Grace is how long after a creation a provider may be unable to show the new instance.
const Grace = 2 * time.Minute

// Missing is the status message of a Machine whose instance is gone.
const Missing = "Can't find created instance."

// Next returns the Move that follows from the answer of Exists. If the provider has accepted a creation and does not show the instance yet, the Move is Await
// until Grace has passed. If an earlier Exists has found the instance, there is no such wait: the Move is GiveUp at once.
func Next(m *machinev1beta1.Machine, exists bool, now time.Time) Move {
	switch {
	case exists:
		return Update
	case !Known(m):
		return Create
	case !Seen(m) && now.Before(created(m).Add(Grace)):
		return Await
	}
	return GiveUp
}

// created returns the time at which Create was answered, the zero time if that is unknown.
func created(m *machinev1beta1.Machine) time.Time {
	return condition(m, machinev1beta1.MachineCreated).LastTransitionTime.Time
}

// Existence returns the condition InstanceExists that belongs to a Move. The condition has no transition time yet.
func Existence(m Move) machinev1beta1.Condition {
	switch m {
	case Update:
		return True(machinev1beta1.InstanceExistsCondition, "", "")
	case Create:
		return False(machinev1beta1.InstanceExistsCondition, machinev1beta1.ConditionSeverityWarning, machinev1beta1.InstanceNotCreatedReason,
			"The provider has not created an instance yet")
	case Await:
		return False(machinev1beta1.InstanceExistsCondition, machinev1beta1.ConditionSeverityInfo, machinev1beta1.InstanceMissingReason,
			"The provider has accepted the request for the instance, but does not list the instance yet")
	}
	return False(machinev1beta1.InstanceExistsCondition, machinev1beta1.ConditionSeverityWarning, machinev1beta1.InstanceMissingReason, Missing)
}
