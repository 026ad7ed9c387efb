// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// Standing is the summary of one pair. A condition that is not set is "".
type Standing struct {
	Kind string `json:"kind"`
	// Namespace is the Machine API object's namespace, or the Cluster API object's if only Cluster API has the object.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Requested is spec.authoritativeAPI, Current is status.authoritativeAPI.
	Requested authority.API `json:"requestedAPI,omitempty"`
	Current   authority.API `json:"authoritativeAPI,omitempty"`
	// Origin is the API that authority leaves while Current is Migrating.
	Origin       authority.API          `json:"origin,omitempty"`
	Synchronized metav1.ConditionStatus `json:"synchronized,omitempty"`
	Settled      metav1.ConditionStatus `json:"settled,omitempty"`
	Paused       Paused                 `json:"paused"`
	// Reason and Message are what the pair waits for, or what is wrong; empty if all is well.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when the wait or the error began, or when authority settled; zero if unknown.
	Since metav1.Time `json:"since,omitzero"`
	// Deleting reports that one of the core objects is being deleted.
	Deleting bool `json:"deleting,omitempty"`
	// MirrorDeleting reports that only the mirror is being deleted.
	MirrorDeleting bool `json:"mirrorDeleting,omitempty"`

	ref, object string
}

// Paused has each side's acknowledgement of a pause: True, False, or "" if there is none.
type Paused struct {
	MachineAPI     metav1.ConditionStatus `json:"machineAPI,omitempty"`
	ClusterAPI     metav1.ConditionStatus `json:"clusterAPI,omitempty"`
	Infrastructure metav1.ConditionStatus `json:"infrastructure,omitempty"`
}

// Ref is KIND/NAME.
func (s Standing) Ref() string { return s.ref }

// Object names the object as other commands accept it: machineset.machine.openshift.io/worker-a.
func (s Standing) Object() string { return s.object }

// Of returns the summary of a pair.
func Of(p inventory.Pair) Standing {
	shape := p.Shape()
	s := Standing{
		Kind: p.Kind.Name, Namespace: p.Namespaces.MachineAPI, Name: p.Name, ref: p.Ref(), object: p.Object(),
		Requested: shape.Requested, Current: shape.Current,
		Synchronized: shape.Condition(authority.ConditionSynchronized).Status,
		Settled:      shape.Condition(authority.ConditionSettled).Status,
		Paused:       paused(p, shape),
		Deleting:     p.MachineAPI.Deleting() || p.ClusterAPI.Deleting(), MirrorDeleting: mirrorDeleting(p),
	}
	if p.MachineAPI == nil {
		s.Namespace, s.Requested, s.Current = p.Namespaces.ClusterAPI, authority.ClusterAPI, authority.ClusterAPI
		if why := authority.DeletionPaused(p.Kind, p.ClusterAPI); why != nil && s.Deleting {
			s.Reason, s.Message, s.Since = ReasonDeletionPaused, strings.Join(why, ". ")+".", *p.ClusterAPI.Metadata.DeletionTimestamp
		} else if s.Deleting {
			s.deletion(p)
		} else if why := authority.NotReflected(p.Kind, p.ClusterAPI); why != "" {
			s.Reason, s.Message = authority.ReasonTwinMissing, why+"."
		} else if c := authority.ConditionOf(p.ClusterAPI, authority.ConditionMirrored); c.Status == metav1.ConditionFalse {
			s.Reason, s.Message, s.Since = c.Reason, c.Message, c.LastTransitionTime
		}
		return s
	}
	if s.Current == authority.Migrating {
		s.Origin = shape.SynchronizedAPI
	}
	s.explain(shape)
	s.deletion(p)
	return s
}

func mirrorDeleting(p inventory.Pair) bool {
	mirrored, mirror := p.MachineAPI, p.ClusterAPI
	if p.Authoritative() == authority.ClusterAPI {
		mirrored, mirror = mirror, mirrored
	}
	return mirror.Deleting() && !mirrored.Deleting()
}

func paused(p inventory.Pair, shape authority.Shape) Paused {
	out := Paused{MachineAPI: shape.Condition(authority.ConditionPaused).Status, ClusterAPI: authority.Paused(p.ClusterAPI).Status}
	if p.Kind.InfraActs() {
		out.Infrastructure = provider(p)
	}
	return out
}

// provider returns the provider's acknowledgement of a pause, in whichever form the provider acknowledges. Of a provider that never acknowledges, it returns
// whether the provider's object is paused.
func provider(p inventory.Pair) metav1.ConditionStatus {
	switch (authority.Objects{Kind: p.Kind, MachineAPI: p.MachineAPI, ClusterAPI: p.ClusterAPI, Infra: p.Infra,
		InfraInstance: p.InfraInstance}).State().Infra.Acknowledged {
	case authority.AcknowledgedPaused:
		return metav1.ConditionTrue
	case authority.AcknowledgedUnpaused:
		return metav1.ConditionFalse
	case authority.NotAcknowledged:
	}
	return ""
}

// ReasonRequested is the reason of an object that Poundlock has yet to reconcile.
const ReasonRequested = "Requested"

// ReasonDeletionPaused is why the deletion of an object that only Cluster API has does not end (authority.DeletionPaused).
const ReasonDeletionPaused = "DeletionPaused"

// explain sets what the pair waits for: a move first, then the mirror. If the handoff waits for an object that the mirror does not create, the mirror's
// condition has the reason and the remedy.
func (s *Standing) explain(shape authority.Shape) {
	settled, synchronized := shape.Condition(authority.ConditionSettled), shape.Condition(authority.ConditionSynchronized)
	s.Since = settled.LastTransitionTime
	switch {
	case settled.Status == metav1.ConditionFalse && (settled.Reason != authority.ReasonTwinMissing || synchronized.Status != metav1.ConditionFalse):
		s.Reason, s.Message = settled.Reason, settled.Message
	case synchronized.Status == metav1.ConditionFalse:
		s.Reason, s.Message, s.Since = synchronized.Reason, synchronized.Message, synchronized.LastTransitionTime
	case s.Moving() && s.Reason == "":
		s.Reason = ReasonRequested
	}
}

// Moving reports whether a move is requested or in progress.
func (s Standing) Moving() bool {
	return s.Current == authority.Migrating || s.Requested.Other() != authority.Unset && s.Requested.Other() == s.Current
}

// At reports whether the API is authoritative, no move is requested, and all controllers have acknowledged that.
func (s Standing) At(api authority.API) bool {
	return s.Current == api && !s.Moving() && s.Settled == metav1.ConditionTrue
}

// Age returns the time since Since; 0 if that is unknown.
func (s Standing) Age(now time.Time) time.Duration {
	if s.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Since.Time))
}
