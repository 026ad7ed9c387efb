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

// restoreOwner makes a paused MachineSet the owner of an authoritative Machine again. A set that acts adopts its Machines itself, but a paused set adopts
// none. A Machine has lost its owner if the set was recreated. That the other API's set owns the Machine's mirror shows that the set counts this Machine.
// Without the owner, a move of the set would wait for ever. A Machine that a person has released does not match the set's selector, and stays released.
func (s steps) restoreOwner() *pairs.Write {
	side := s.Source()
	machine, set := s.On(side), s.Parents[side]
	counted := pairs.PresenceOf(machine) == authority.Present && s.countedBy(s.Parents[side.Other()])
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

// changeOwner gives a Cluster API mirror from one MachineSet to another that has adopted the Machine in the Machine API, as when the first set was deleted
// there with --cascade=orphan. An apply cannot do that: Cluster API's set has written the reference to itself, too, and an object has at most one controller.
// The former set no longer counts the Machine, in either API.
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
		Reason: "OwnerRestored", Note: "gave " + pairs.Describe(s.Core) + " from MachineSet " + is.Name + " to MachineSet " + wanted.Name +
			", which owns its Machine API object",
	}
}

// countedBy reports whether this set of the mirror's side owns the mirror. Neither of the two may be being deleted.
func (s steps) countedBy(set *unstructured.Unstructured) bool {
	mirror, _ := s.Mirror()
	owner := pairs.ControllerOf(mirror)
	return pairs.PresenceOf(mirror) == authority.Present && pairs.PresenceOf(set) == authority.Present && owner != nil && owner.UID == set.GetUID()
}

// adoptsNothing reports whether the set of a side is not being deleted, belongs to the pair, and is paused.
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

// lost reports whether nothing controls the Machine, or its controller is a former set of the same name: only one set of a name exists at a time.
func lost(machine, set *unstructured.Unstructured) bool {
	owner := pairs.ControllerOf(machine)
	return owner == nil || names(*owner, set) && owner.UID != set.GetUID()
}

// names reports whether a reference is to an object of this kind and name, whatever its UID.
func names(r metav1.OwnerReference, o *unstructured.Unstructured) bool {
	group, _, _ := strings.Cut(r.APIVersion, "/")
	return group == o.GroupVersionKind().Group && r.Kind == o.GetKind() && r.Name == o.GetName()
}
