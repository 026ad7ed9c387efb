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

// LastOwner refuses an update after which an object has owners, but none that exists. If Poundlock may not read one of the owners, LastOwner only warns. The
// garbage collector deletes such an object. An update can cause that by new owners that are all gone, or by removing the last owner that exists from a list
// whose other owners are gone. New objects are checked by CreateOwned and InfraUnowned.
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

// changesItsOwners reports whether an update leaves an object with other owners than before. It is false for the controllers of the object's own API, and for
// users with a row of Grants for owners, because they name owners that they have just read. It is false for the garbage collector, because it removes only
// owners that are gone or were deleted without their dependents. It is false for an object that is being deleted, because such an object loses nothing by an
// owner.
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

// ownersRefused reports whether another rule refuses the change of the owners anyway, so that it does not matter whether the owners exist.
func ownersRefused(c policies.Change) bool {
	s := stand(c)
	if c.Side == policies.SideInfrastructure {
		return c.Facts.Twin != nil && s.locked() || replacesOwners(c) && c.Facts.Twin != nil || len(InfraOwner(c).Denials)+len(InstanceOwner(c).Denials) > 0
	}
	return mirrored(c, s) && !mayOwn(c, s)
}

// holds reports whether an owner is of the kind that usually owns a provider's object: a Machine, or a provider's machine.
func holds(c policies.Change, ref metav1.OwnerReference) bool {
	return c.Side == policies.SideInfrastructure && (ownsAsMachine(ref) || c.Kind == InfraInstance && OwnsInfraInstance(c.New.Kind, ref))
}

// endsWith returns a phrase for what would be lost if the garbage collector deleted the object.
func endsWith(c policies.Change) string {
	switch {
	case c.Kind == MachineDeployment:
		return "its MachineSets with it, and their Machines with their instances"
	case c.Kind == "MachineSet":
		return "the Machines that the set has created"
	case c.Facts.Twin != nil && c.Side != policies.SideInfrastructure:
		return "the deletion could terminate the instance that it shares with " + there(c)
	}
	return "unless the object is paused, its controllers terminate the instance"
}
