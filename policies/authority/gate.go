// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Gate is what a controller of the Machine API does with an object before it does anything else: "each controller will, at the start of the
// reconcile logic, check for the presence of the status.authoritativeAPI and will either skip or continue"
// (converting › Filtering reconciles in Machine API controllers).
type Gate struct {
	// Act reports that the controller may go on, once Paused is stored.
	Act bool
	// Adopt is what status.authoritativeAPI is to become, Unset for no change; the next pass then decides.
	Adopt API
	// Paused is the acknowledgement to store; its Status is "" where there is none. True is stored only when nothing is in flight for the object.
	Paused Condition
}

// The reasons of the condition Paused, as the Machine API publishes them.
const (
	ReasonMachineAPI    = "AuthoritativeAPIMachineAPI"
	ReasonNotMachineAPI = "AuthoritativeAPINotMachineAPI"
)

// GateOf decides for an object of the Machine API. on is whether the feature gate MachineAPIMigration is on. With the gate off, and where the CRD has no
// field of authority, controllers act as they always did; admission stops them at an object for which Cluster API is authoritative
// (authority/finalizer-fence).
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

// AlreadyWritten reports whether the object already has what the gate would write, in all but the time.
func (g Gate) AlreadyWritten(s Shape) bool {
	c := s.Condition(ConditionPaused)
	return g.Adopt == Unset && (g.Paused.Status == "" || c.Status == g.Paused.Status && c.Reason == g.Paused.Reason && c.Message == g.Paused.Message)
}
