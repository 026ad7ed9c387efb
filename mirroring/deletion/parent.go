// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// OwnerWithoutTwin returns a mirror that is being deleted, and the reference to its owner if that owner has no twin, such as a ControlPlaneMachineSet. The
// caller must then read the owner. In all other cases owner is nil.
func OwnerWithoutTwin(s *pairs.State) (mirror *unstructured.Unstructured, owner *metav1.OwnerReference) {
	mirror, _ = s.Mirror()
	if ref := pairs.ControllerOf(mirror); pairs.PresenceOf(mirror) == authority.Deleting && ref != nil && ref.Kind != s.Kind.Parent {
		return mirror, ref
	}
	return mirror, nil
}

// JudgeParent stores in s what a deletion must know about the owner of the mirror, if the mirror is being deleted. owner is the object to which
// OwnerWithoutTwin refers, nil if it is gone.
func JudgeParent(s *pairs.State, owner *unstructured.Unstructured) {
	mirror, side := s.Mirror()
	ref := pairs.ControllerOf(mirror)
	if pairs.PresenceOf(mirror) != authority.Deleting || ref == nil {
		return
	}
	if ref.Kind == s.Kind.Parent {
		s.Parent = authority.Parent{
			Authority:  authority.Source(pairs.ShapeOf(s.Parents[authority.MachineAPI])),
			MachineAPI: pairs.PresenceOf(s.Parents[authority.MachineAPI]), ClusterAPI: pairs.PresenceOf(s.Parents[authority.ClusterAPI]),
		}
		if s.Parents[side] != nil && s.Parents[side].GetUID() != ref.UID {
			s.SetParent(side, authority.Absent)
		}
		if ownerless(mirror, s.Parents[side], ref.UID) {
			s.Parent = authority.Parent{}
			s.SetParent(side, authority.Absent)
			s.SetParent(side.Other(), authority.Present)
		}
		return
	}
	// This owner has no twin. Deleting the owner is not meant to delete its Machines.
	s.SetParent(side, pairs.PresenceOf(owner))
	if owner != nil && owner.GetUID() != ref.UID {
		s.SetParent(side, authority.Absent) // the owner was replaced by another generated object of that name
	}
	s.SetParent(side.Other(), authority.Present)
}

// ownerless reports whether a mirror refers to an owner that was already gone when the mirror was created, for example because a backup was applied as it was
// stored. The garbage collector deletes such a mirror, and nobody has asked for that. Only one set of a name exists at a time. So if the set of that name has
// another UID and is older than the mirror, the owner was gone.
func ownerless(mirror, set *unstructured.Unstructured, owner types.UID) bool {
	if set == nil || set.GetUID() == owner {
		return false
	}
	born, since := mirror.GetCreationTimestamp(), set.GetCreationTimestamp()
	return !since.IsZero() && !since.After(born.Time)
}
