// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// restoreOwner returns the write that makes a paused MachineSet the owner of an authoritative Machine again. A set that acts adopts its Machines itself, but a
// paused set adopts none. A Machine loses its owner if the set is recreated. If the set of the other API owns the Machine's mirror, that shows that the set
// counts this Machine. Without the owner, a move of the set would wait for ever. A Machine that a user has released does not match the set's selector, and
// stays released.
func (s steps) restoreOwner() *pairs.Write {
	side := s.Source()
	machine, set := s.On(side), s.Parents[side]
	counted := pairs.PresenceOf(machine) == authority.Present && s.countedBy(s.Parents[side.Other()], side)
	if !counted || !s.adoptsNothing(side) || !lost(machine, set) {
		return nil
	}
	if !authority.SelectorOf(pairs.ObjectOf(set)).Matches(labels.Set(machine.GetLabels())) {
		return nil
	}
	refs := slices.DeleteFunc(machine.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return names(r, set) })
	return &pairs.Write{
		Verb: pairs.Patch, Object: machine, Provided: pairs.Proviso{Stays: set},
		Patch:  pairs.MetadataPatch(map[string]any{"ownerReferences": append(refs, pairs.OwnedBy(set, true))}),
		Reason: "OwnerRestored", Note: "restored the owner reference of " + pairs.Describe(machine) + " to its MachineSet " + set.GetName(),
	}
}

// changeOwner returns the write that changes the owner of a Cluster API mirror from one MachineSet to another, which has adopted the Machine in the Machine
// API. This happens if the first set was deleted there with --cascade=orphan. An apply cannot change the owner, because Cluster API's set has written the
// reference to itself, too, and an object has at most one controller. The former set no longer counts the Machine, in either API.
func (s steps) changeOwner(want *unstructured.Unstructured) *pairs.Write {
	is, wanted := pairs.ControllerOf(s.Core), pairs.ControllerOf(want)
	if is == nil || wanted == nil || is.UID == wanted.UID || is.Kind != s.Kind.Parent || wanted.Kind != s.Kind.Parent ||
		pairs.PresenceOf(s.Core) != authority.Present || !s.IsMirror(s.Core) || !pairs.IsPaused(s.Core) {
		return nil
	}
	refs := slices.DeleteFunc(s.Core.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == is.UID || r.UID == wanted.UID })
	return &pairs.Write{
		Verb: pairs.Patch, Object: s.Core, Provided: pairs.Proviso{Stays: s.Parents[authority.ClusterAPI]},
		Patch:  pairs.MetadataPatch(map[string]any{"ownerReferences": append(refs, *wanted)}),
		Reason: "OwnerRestored", Note: "changed the owner of " + pairs.Describe(s.Core) + " from MachineSet " + is.Name + " to MachineSet " + wanted.Name +
			", which owns the Machine API object",
	}
}

// countedBy reports whether set, of the mirror's API, owns the mirror, and neither of the two is being deleted. side is the API of the other set. If Cluster
// API is authoritative for the sets, the Machine API's may be being deleted: Cluster API's set goes on and keeps its Machines. It stays paused until it counts
// them (authority.State.Uncounted), and the deletion of the Machine API's set waits until it is no longer paused, so neither would end.
func (s steps) countedBy(set *unstructured.Unstructured, side authority.API) bool {
	mirror, _ := s.Mirror()
	owner := pairs.ControllerOf(mirror)
	stays := pairs.PresenceOf(set) == authority.Present ||
		set != nil && side == authority.ClusterAPI && authority.Source(pairs.ShapeOf(set)) == authority.ClusterAPI
	return pairs.PresenceOf(mirror) == authority.Present && stays && owner != nil && owner.UID == set.GetUID()
}

// adoptsNothing reports whether the set of an API belongs to the pair, is paused, and is not being deleted. Such a set adopts no Machine.
func (s steps) adoptsNothing(side authority.API) bool {
	switch set := s.Parents[side]; {
	case pairs.PresenceOf(set) != authority.Present:
		return false
	case side == authority.MachineAPI:
		return authority.Source(pairs.ShapeOf(set)) == authority.ClusterAPI
	default:
		return pairs.IsPaused(set) && !s.ForeignParent()
	}
}

// lost reports whether nothing controls the Machine, or its controller is a former set with the name of set. Only one set of a name exists at a time.
func lost(machine, set *unstructured.Unstructured) bool {
	owner := pairs.ControllerOf(machine)
	return owner == nil || names(*owner, set) && owner.UID != set.GetUID()
}

// names reports whether a reference names the kind and the name of an object, even if the UID differs.
func names(r metav1.OwnerReference, o *unstructured.Unstructured) bool {
	group, _, _ := strings.Cut(r.APIVersion, "/")
	return group == o.GroupVersionKind().Group && r.Kind == o.GetKind() && r.Name == o.GetName()
}
