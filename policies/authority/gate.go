// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Gate is what a controller of the Machine API does with an object at the start of a pass, because of authority: "each controller will, at the start of the
// reconcile logic, check for the presence of the status.authoritativeAPI and will either skip or continue" (converting › Filtering reconciles in Machine API
// controllers).
type Gate struct {
	// Act reports that the controller may reconcile the object, after it has stored Paused.
	Act bool
	// Adopt is the value that the controller stores in status.authoritativeAPI, or Unset for none. After it has stored one, its next pass decides about the rest.
	Adopt API
	// Paused is the condition that the controller stores as its acknowledgement. If the Status is "", there is none to store. A controller stores True only when
	// it has nothing under way for the object.
	Paused Condition
}

// The reasons of the condition Paused. They are the reasons that the Machine API publishes.
const (
	ReasonMachineAPI    = "AuthoritativeAPIMachineAPI"
	ReasonNotMachineAPI = "AuthoritativeAPINotMachineAPI"
)

// GateOf returns the Gate for an object of the Machine API. on reports whether the feature gate MachineAPIMigration is on. If the feature gate is off, or if
// the CRD has no fields of authority, controllers act as they did before authority existed. If Cluster API is authoritative for an object, admission then stops
// the controllers (authority/finalizer-fence).
func GateOf(s Shape, on bool) Gate {
	switch {
	case !on || s.Current == Unset && s.Requested == Unset:
		return Gate{Act: true}
	case s.Current == Unset:
		return Gate{Adopt: s.Requested}
	case s.Current == MachineAPI:
		return Gate{Act: true, Paused: pausedBy(s.Current, metav1.ConditionFalse, ReasonMachineAPI)}
	}
	return Gate{Paused: pausedBy(s.Current, metav1.ConditionTrue, ReasonNotMachineAPI)}
}

func pausedBy(current API, status metav1.ConditionStatus, reason string) Condition {
	return Condition{
		Type: ConditionPaused, Status: status, Reason: reason,
		Message: fmt.Sprintf("The AuthoritativeAPI status is set to '%s'", current),
	}
}

// AlreadyWritten reports whether the object already has everything that the gate would write, apart from the condition's time.
func (g Gate) AlreadyWritten(s Shape) bool {
	c := s.Condition(ConditionPaused)
	return g.Adopt == Unset && (g.Paused.Status == "" || c.Status == g.Paused.Status && c.Reason == g.Paused.Reason && c.Message == g.Paused.Message)
}
