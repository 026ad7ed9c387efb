// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Standing is one pair at a glance. A condition that nobody has set is "".
type Standing struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Requested is spec.authoritativeAPI, Current is status.authoritativeAPI.
	Requested authority.API `json:"requestedAPI,omitempty"`
	Current   authority.API `json:"authoritativeAPI,omitempty"`
	// Origin is where authority comes from while Current is Migrating.
	Origin       authority.API          `json:"origin,omitempty"`
	Synchronized metav1.ConditionStatus `json:"synchronized,omitempty"`
	Settled      metav1.ConditionStatus `json:"settled,omitempty"`
	Paused       Paused                 `json:"paused"`
	// Reason and Message say what is waited for, or what is wrong; empty where all is in order.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when that began, or when authority settled; zero where nothing says it.
	Since metav1.Time `json:"since,omitzero"`
	// Deleting reports that one of the core objects is being deleted.
	Deleting bool `json:"deleting,omitempty"`
	// MirrorDeleting reports that the mirror is being deleted, and what it mirrors is not.
	MirrorDeleting bool `json:"mirrorDeleting,omitempty"`

	ref, object string
}

// Paused is what each side's controllers say: True, False, or nothing.
type Paused struct {
	MachineAPI     metav1.ConditionStatus `json:"machineAPI,omitempty"`
	ClusterAPI     metav1.ConditionStatus `json:"clusterAPI,omitempty"`
	Infrastructure metav1.ConditionStatus `json:"infrastructure,omitempty"`
}

// Ref is the object as a person names it.
func (s Standing) Ref() string { return s.ref }

// Object is its object for other commands to read: machineset.machine.openshift.io/worker-a.
func (s Standing) Object() string { return s.object }

// Of reads a pair.
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
		s.Requested, s.Current = authority.ClusterAPI, authority.ClusterAPI
		if why := authority.DeletionPaused(p.Kind, p.ClusterAPI); why != nil && s.Deleting {
			s.Reason, s.Message, s.Since = ReasonDeletionPaused, strings.Join(why, ". ")+".", *p.ClusterAPI.Metadata.DeletionTimestamp
		}
		return s
	}
	if s.Current == authority.Migrating {
		s.Origin = shape.SynchronizedAPI
	}
	s.explain(shape)
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
	out := Paused{MachineAPI: shape.Condition(authority.ConditionPaused).Status, ClusterAPI: said(p.ClusterAPI)}
	if p.Kind.InfraActs() {
		out.Infrastructure = provider(p)
	}
	return out
}

// provider is what the provider's controller says, in whatever way it says so; of one that never answers, what it was told.
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

func said(o *policies.Object) metav1.ConditionStatus { return authority.Paused(o).Status }

// ReasonRequested is why an object waits that Poundlock has yet to look at.
const ReasonRequested = "Requested"

// ReasonDeletionPaused is why the deletion does not end of an object that only Cluster API has (authority.DeletionPaused).
const ReasonDeletionPaused = "DeletionPaused"

// explain finds what is waited for: a move first, then the mirror.
func (s *Standing) explain(shape authority.Shape) {
	settled, synchronized := shape.Condition(authority.ConditionSettled), shape.Condition(authority.ConditionSynchronized)
	s.Since = settled.LastTransitionTime
	switch {
	case settled.Status == metav1.ConditionFalse:
		s.Reason, s.Message = settled.Reason, settled.Message
	case synchronized.Status == metav1.ConditionFalse:
		s.Reason, s.Message, s.Since = synchronized.Reason, synchronized.Message, synchronized.LastTransitionTime
	case s.Moving() && s.Reason == "":
		s.Reason = ReasonRequested
	}
}

// Moving reports whether another API is asked for than is authoritative, or authority is between the two.
func (s Standing) Moving() bool {
	return s.Current == authority.Migrating || s.Requested.Other() != authority.Unset && s.Requested.Other() == s.Current
}

// At reports whether the API is authoritative, nothing else is asked for, and all controllers have acknowledged it.
func (s Standing) At(api authority.API) bool {
	return s.Current == api && !s.Moving() && s.Settled == metav1.ConditionTrue
}

// Age is how long ago Since was, in the units of kubectl; "" where nothing says it.
func (s Standing) Age(now time.Time) time.Duration {
	if s.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Since.Time))
}
