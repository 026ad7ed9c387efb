// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// State is everything that Next needs to decide about a set's authority. It is small and comparable, so that a test can go through all states.
type State struct {
	// Requested is spec.authoritativeAPI, and Current is status.authoritativeAPI. Origin is status.synchronizedAPI, the API that authority comes from while
	// Current is Migrating.
	Requested, Current, Origin authority.API
	Deleting                   bool
	// OfClusterAPI reports that the set's template has the member for Cluster API.
	OfClusterAPI bool
	Side         Side
}

// Side is how Cluster API's objects for the set, a template and failure domains, compare with the set.
type Side uint8

// The states of Cluster API's side.
const (
	// Behind: something still has to be written to Cluster API's side.
	Behind Side = iota
	// Refused: Cluster API cannot express the set's content, or the API server refuses it.
	Refused
	// InStep: Cluster API's side equals the set.
	InStep
)

// ReasonTemplateIsClusterAPIs reports that authority cannot go to Machine API while the set's template is in Cluster API's form.
const ReasonTemplateIsClusterAPIs = "TemplateIsClusterAPIs"

// Next returns the next step of a set's authority. Its state machine is that of DESIGN §4 for an object that has no counterpart. One operator acts for both
// APIs, and does nothing while Migrating is stored. So there is no pause to wait for and no finalizer to move. Cluster API's side must be in step before the
// move begins, and again before it ends, because the set may have been edited meanwhile. A set that is being deleted does not move any more.
//
// The steps are those of authority.Next. Only the actions Rest, Adopt, Acknowledge, Switch, Wait and Settle occur, and On and Drop are empty.
func Next(s State) authority.Step {
	switch {
	case s.Deleting:
		return authority.Step{Action: authority.Rest, Reason: authority.ReasonDeleting,
			Message: "The ControlPlaneMachineSet is being deleted, so the authority over it cannot move any more."}
	case s.Current == authority.Unset && s.Requested == authority.Unset:
		return authority.Step{Action: authority.Rest, Reason: authority.ReasonDisabled,
			Message: "The CRD of ControlPlaneMachineSets has no spec.authoritativeAPI: apply Poundlock's overlay of the CRD (manifests/crds)."}
	case s.Current == authority.Unset:
		return authority.Step{Action: authority.Adopt, To: s.Requested, Reason: authority.ReasonAdopted,
			Message: s.Requested.Text() + " is authoritative for this new set."}
	case s.Current == authority.Migrating:
		return moving(s)
	case s.Current.Other() == authority.Unset:
		return wait(authority.ReasonUnknownAuthority, "status.authoritativeAPI has a value that this version of Poundlock does not support.")
	case s.Requested.Other() == s.Current:
		return asked(s)
	}
	return authority.Step{Action: authority.Settle, Reason: authority.ReasonSettled, Message: s.Current.Text() + " is authoritative."}
}

// asked returns the step that follows a request to move. It stores Migrating only if there is no obstacle, because nobody manages the control plane while
// Migrating is stored.
func asked(s State) authority.Step {
	if why, in := s.inTheWay(s.Requested); in {
		why.Message = fmt.Sprintf("The move to %s does not start while %s.", s.Requested.Text(), why.Message)
		return why
	}
	return authority.Step{Action: authority.Acknowledge, To: s.Requested, Reason: authority.ReasonStarted,
		Message: fmt.Sprintf("Authority is moving from %s to %s.", s.Current.Text(), s.Requested.Text())}
}

func moving(s State) authority.Step {
	switch {
	case s.Origin.Other() == authority.Unset:
		return wait(authority.ReasonUnknownOrigin,
			"status.authoritativeAPI is Migrating, but status.synchronizedAPI does not name the API that was authoritative before. Poundlock does not guess. "+
				"Set status.synchronizedAPI to MachineAPI or ClusterAPI, acting as Poundlock's service account: kubectl poundlock explain UnknownOrigin has the "+
				"command.")
	case s.Requested != s.Origin.Other():
		return authority.Step{Action: authority.Switch, To: s.Origin, Cancelled: true, Reason: authority.ReasonCancelled,
			Message: fmt.Sprintf("The move was cancelled: %s is authoritative.", s.Origin.Text())}
	}
	if why, in := s.inTheWay(s.Requested); in {
		why.Message = fmt.Sprintf(
			"Authority is moving to %s. Meanwhile Poundlock changes nothing in the control plane. The move does not complete while %s. To cancel, set "+
				"spec.authoritativeAPI back to %s.",
			s.Requested.Text(), why.Message, s.Origin)
		return why
	}
	return authority.Step{Action: authority.Switch, To: s.Requested, Reason: authority.ReasonCompleted, Message: s.Requested.Text() + " is authoritative."}
}

// inTheWay returns the obstacle to a move to an API, as a Wait, and whether there is one. In a move to Machine API, which leaves Cluster API's side, that side
// is no obstacle.
func (s State) inTheWay(to authority.API) (authority.Step, bool) {
	switch {
	case to == authority.MachineAPI && s.OfClusterAPI:
		return wait(ReasonTemplateIsClusterAPIs, fmt.Sprintf("spec.template has the type %s (change the template to the type %s)",
			controlplane.ClusterAPIMember, controlplane.MachineAPIMember)), true
	case to == authority.ClusterAPI && s.Side == Refused:
		return wait(authority.ReasonNotSynchronized, "the set's condition Synchronized is False"), true
	case to == authority.ClusterAPI && s.Side == Behind:
		return wait(authority.ReasonCatchingUp, "Poundlock has not written all of Cluster API's objects for the set"), true
	}
	return authority.Step{}, false
}

func wait(reason, message string) authority.Step {
	return authority.Step{Action: authority.Wait, Reason: reason, Message: message}
}
