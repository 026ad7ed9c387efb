// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// LastOwner: the collector deletes an object also when an update gives it owners that are all gone, or takes away the last one that exists from beside others
// that are gone. CreateOwned and InfraUnowned look at creations.
func LastOwner(c policies.Change) policies.Verdict {
	if !changesItsOwners(c) || ownersRefused(c) {
		return policies.Verdict{}
	}
	const remedy = "keep an owner that exists, or remove all owner references"
	refs := c.New.Metadata.OwnerReferences
	for _, ref := range refs {
		if slices.ContainsFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.Metadata.UID == ref.UID }) {
			return policies.Verdict{}
		}
	}
	if i := slices.IndexFunc(refs, func(ref metav1.OwnerReference) bool { return !mayBeRead(ref, c.Side) && !holds(c, ref) }); i >= 0 {
		return policies.Warn(fmt.Sprintf("%s: if %s %s with the UID %s does not exist, the garbage collector deletes this %s, and %s: %s",
			ownersPath.Index(i), refs[i].Kind, refs[i].Name, refs[i].UID, kindOf(c), endsWith(c), remedy))
	}
	return policies.Deny(field.Forbidden(ownersPath, fmt.Sprintf(
		"%s %s with the UID %s does not exist, and neither does any other owner of this %s. So the garbage collector would delete this object, and %s: %s",
		refs[0].Kind, refs[0].Name, refs[0].UID, kindOf(c), endsWith(c), remedy)))
}

// changesItsOwners reports whether an update leaves an object with other owners than it had. The controllers of its own API, and who else has a row of
// Grants for owners, name what they have just read, and the collector takes away what is gone, or deleted without its dependents. What is being deleted loses
// nothing by an owner.
func changesItsOwners(c policies.Change) bool {
	switch {
	case c.Old == nil || c.New == nil || c.Old.Deleting() || len(c.New.Metadata.OwnerReferences) == 0,
		c.Actor == policies.Poundlock || c.Actor == policies.GarbageCollector || controls(c.Actor, c.Side) || Granted(c, ownersPath.String(), Writes),
		c.Actor == policies.ClusterAPIController && c.Side == policies.SideInfrastructure:
		return false
	}
	same := func(a, b *policies.Object) bool {
		return !slices.ContainsFunc(a.Metadata.OwnerReferences, func(ref metav1.OwnerReference) bool { return !had(b, ref) })
	}
	return !same(c.Old, c.New) || !same(c.New, c.Old)
}

// ownersRefused reports whether another rule refuses a change of the owners, whichever they are.
func ownersRefused(c policies.Change) bool {
	s := stand(c)
	if c.Side == policies.SideInfrastructure {
		return c.Facts.Twin != nil && s.locked() || replacesOwners(c) && c.Facts.Twin != nil || len(InfraOwner(c).Denials)+len(InstanceOwner(c).Denials) > 0
	}
	return mirrored(c, s) && !mayOwn(c, s)
}

// holds reports whether an owner is one by which a provider's object is found: its Machine, or its provider's machine.
func holds(c policies.Change, ref metav1.OwnerReference) bool {
	return c.Side == policies.SideInfrastructure && (ownsAsMachine(ref) || c.Kind == InfraInstance && OwnsInfraInstance(c.New.Kind, ref))
}

// endsWith is what the collector's deletion of an object would end.
func endsWith(c policies.Change) string {
	switch {
	case c.Kind == MachineDeployment:
		return "its MachineSets with it, and their Machines with their instances"
	case c.Kind == "MachineSet":
		return "the Machines that it has made with it"
	case c.Facts.Twin != nil && c.Side != policies.SideInfrastructure:
		return "the deletion could end what it has in common with " + there(c)
	}
	return "unless it is paused, its controllers terminate its instance"
}
