// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

var infraRefPath = specPath.Child("infrastructureRef")

// InfraOwner refuses that a Machine owns a provider's machine if the Machine does not exist by its UID, is paused while the provider's machine is not, or
// does not refer to that provider's machine (disowns). A provider's controller acts on each provider's machine that a Machine owns and that is not paused,
// even if the Machine is paused. So a provider's machine whose owner does not refer to it is a second instance of that Machine, and is deleted, with its
// instance, when the Machine is.
func InfraOwner(c policies.Change) policies.Verdict {
	var errs field.ErrorList
	for _, i := range newOwners(c) {
		ref := c.New.Metadata.OwnerReferences[i]
		if reason := disowns(c, ref); reason != "" {
			remedy := ": leave the owner reference out. Cluster API adds it to the infrastructure machine that spec.infrastructureRef of the Machine names"
			if had(c.Old, ref) {
				remedy = ": leave this object paused, or remove the owner reference in the same request"
			}
			errs = append(errs, field.Forbidden(ownersPath.Index(i), reason+remedy))
		}
	}
	return policies.Deny(errs...)
}

// gainsOwner reports whether a request makes a Machine the owner of an infrastructure machine, or unpauses an infrastructure machine that a Machine owns.
func gainsOwner(c policies.Change) bool { return len(newOwners(c)) > 0 }

// binds reports whether the actor is a controller that sets the owner of infrastructure machines.
func binds(a policies.Actor) bool {
	return a == policies.Poundlock || a == policies.ClusterAPIController
}

// newOwners returns the Machines that can act through the object after the request and could not act through it before, as indices in ownerReferences.
func newOwners(c policies.Change) []int {
	if binds(c.Actor) {
		return nil
	}
	var before []metav1.OwnerReference
	if c.Old != nil && (!c.Old.HasAnnotation(PausedAnnotation) || c.New.HasAnnotation(PausedAnnotation)) {
		before = c.Old.Metadata.OwnerReferences
	}
	var out []int
	for i, ref := range c.New.Metadata.OwnerReferences {
		same := func(o metav1.OwnerReference) bool { return ownsAsMachine(o) && o.Name == ref.Name && o.UID == ref.UID }
		if ownsAsMachine(ref) && !slices.ContainsFunc(before, same) {
			out = append(out, i)
		}
	}
	return out
}

// InstanceOwner refuses an owner reference from the object that a provider keeps for an instance to a provider's machine that does not exist. The garbage
// collector deletes an object if none of its owners exists, and the provider then terminates the instance. For example, a manifest that was stored has the
// UID of a provider's machine that is gone.
func InstanceOwner(c policies.Change) policies.Verdict {
	var errs field.ErrorList
	for _, i := range newKeepers(c) {
		if why := goneKeeper(c, c.New.Metadata.OwnerReferences[i]); why != "" {
			errs = append(errs, field.Forbidden(ownersPath.Index(i), why))
		}
	}
	return policies.Deny(errs...)
}

// gainsKeeper reports whether a request makes a provider's machine the owner of the object that is kept for an instance.
func gainsKeeper(c policies.Change) bool { return len(newKeepers(c)) > 0 }

// newKeepers returns the provider's machines that a request makes owners of the object kept for an instance, as indices in ownerReferences. It returns none
// for a provider's controllers that have an account of their own, because they name a machine that they have just read. vSphere's controllers have no account
// of their own, so their requests are examined like a user's.
func newKeepers(c policies.Change) []int {
	if c.Actor == policies.Poundlock || c.Actor == policies.InfrastructureController {
		return nil
	}
	var out []int
	for i, ref := range c.New.Metadata.OwnerReferences {
		if keeps(c, ref) && !had(c.Old, ref) {
			out = append(out, i)
		}
	}
	return out
}

// Keepers returns the owner references whose provider's machines a rule has to look up: those of newKeepers, or, if the request changes the owners in another
// way, all references to provider's machines that the object then has.
func Keepers(c policies.Change) []metav1.OwnerReference {
	if c.Kind != InfraInstance {
		return nil
	}
	if changesItsOwners(c) {
		return slices.DeleteFunc(slices.Clone(c.New.Metadata.OwnerReferences), func(ref metav1.OwnerReference) bool { return !keeps(c, ref) })
	}
	var out []metav1.OwnerReference
	for _, i := range newKeepers(c) {
		out = append(out, c.New.Metadata.OwnerReferences[i])
	}
	return out
}

// keeps reports whether the owner of an object that is kept for an instance is the provider's machine of that instance.
func keeps(c policies.Change, ref metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return OwnsInfraInstance(c.New.Kind, ref) && group == c.Resource.Group
}

// goneKeeper returns why a provider's machine may not own the object that is kept for an instance: it does not exist. It returns "" if it exists.
func goneKeeper(c policies.Change, ref metav1.OwnerReference) string {
	const follows = "so the garbage collector would delete this %s, and unless it is paused its controller would terminate the instance: "
	i := slices.IndexFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.Kind == ref.Kind && o.Metadata.Name == ref.Name })
	if i < 0 {
		return fmt.Sprintf("there is no %s %s in this namespace, "+follows+"leave the owner reference out", ref.Kind, ref.Name, kindOf(c))
	}
	if uid := c.Facts.Owners[i].Metadata.UID; uid != ref.UID {
		return fmt.Sprintf("the UID of %s %s is %s, "+follows+"leave the owner reference out, or write this UID", ref.Kind, ref.Name, uid, kindOf(c))
	}
	return ""
}

// InfraUnowned refuses owners of other kinds than a provider's object usually has. It refuses them on a new object if none of them exists, and warns there of
// owners that Poundlock may not read. It refuses them on an existing object if they take the place of all its owners. The garbage collector deletes an object
// that has owners if none of them exists, and the provider's controller then terminates the instance. InfraOwner and InstanceOwner check the owners that a
// provider's objects usually have.
func InfraUnowned(c policies.Change) policies.Verdict {
	if !replacesOwners(c) || c.Facts.Twin == nil && c.Old != nil {
		return policies.Verdict{}
	}
	if c.Old == nil {
		return unowned(c, "its controller terminates the instance",
			"leave the owner references out. Cluster API and the provider's controllers restore them")
	}
	if stand(c).locked() || Granted(c, ownersPath.String(), Writes) { // while the object is locked, InfraLocked refuses the change
		return policies.Verdict{}
	}
	ref := c.New.Metadata.OwnerReferences[0]
	return policies.Deny(field.Forbidden(ownersPath.Index(0), fmt.Sprintf(
		"%s %s would take the place of the owners that this %[3]s has. If it does not exist by its UID, or is deleted, the garbage collector deletes this %[3]s, "+
			"and its controller terminates the instance: leave the owner references as they are",
		ref.Kind, ref.Name, kindOf(c))))
}

// replacesOwners reports whether somebody leaves a provider's object only with owners that the object did not have before, and whose kinds such an object
// does not usually have as owners.
func replacesOwners(c policies.Change) bool {
	if binds(c.Actor) || c.Actor == policies.InfrastructureController || len(c.New.Metadata.OwnerReferences) == 0 || c.Old.Deleting() {
		return false
	}
	return !slices.ContainsFunc(c.New.Metadata.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return had(c.Old, ref) || ownsAsMachine(ref) || c.Kind == InfraInstance && OwnsInfraInstance(c.New.Kind, ref)
	})
}

// had reports whether the object already has the owner, by name and UID.
func had(o *policies.Object, ref metav1.OwnerReference) bool {
	return o != nil && slices.ContainsFunc(o.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == ref.UID && r.Name == ref.Name })
}

// ownsAsMachine reports whether an owner reference names a Machine of Cluster API. The version does not matter, because Cluster API's controllers ignore the
// version of an owner reference.
func ownsAsMachine(ref metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return ref.Kind == "Machine" && group == clusterAPI.Group
}

// MachineOwners returns the names of the Cluster API Machines that own an object.
func MachineOwners(o *policies.Object) []string {
	var out []string
	for _, ref := range o.Metadata.OwnerReferences {
		if ownsAsMachine(ref) {
			out = append(out, ref.Name)
		}
	}
	return out
}

// unpausedForItsEnd reports whether somebody unpauses a provider's machine whose Machine is being deleted, so that the deletion can complete. The provider's
// machine has an instance ID, so the provider creates no instance. The provider then holds the provider's machine by its finalizer before Cluster API deletes
// it (DeletionPaused). If there is a Machine API Machine, PausedOwned decides about the pause.
func unpausedForItsEnd(c policies.Change, machine *policies.Object, ref metav1.OwnerReference) bool {
	return machine.Deleting() && had(c.Old, ref) && providerID(c.Old) != "" && providerID(c.Old) == providerID(c.New)
}

// disowns returns why the owner may not own the object. It returns "" if the owner may.
func disowns(c policies.Change, ref metav1.OwnerReference) string {
	i := slices.IndexFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.Metadata.Name == ref.Name })
	if gone := i < 0 || c.Facts.Owners[i].Metadata.UID != ref.UID; gone && c.Old != nil && c.Old.Deleting() && had(c.Old, ref) {
		return "" // its Machine is gone already: when unpaused, the provider's controller terminates the instance and creates none
	}
	if i < 0 {
		return fmt.Sprintf("there is no Machine %s of %s in this namespace", ref.Name, clusterAPI.Group)
	}
	machine := c.Facts.Owners[i]
	if machine.Metadata.UID != ref.UID {
		return fmt.Sprintf("the UID of Machine %s is %s, and the garbage collector deletes what has an owner of another", ref.Name, machine.Metadata.UID)
	}
	if machine.HasAnnotation(PausedAnnotation) && !c.New.HasAnnotation(PausedAnnotation) && !unpausedForItsEnd(c, machine, ref) {
		return fmt.Sprintf("Machine %s is paused, and this object is not: the provider's controller obeys this object's pause alone, and would create an "+
			"instance while Machine API is authoritative", ref.Name)
	}
	if to := InfraReferenceOf(machine); !to.names(c) {
		return fmt.Sprintf("Machine %s refers to %s %s, and Cluster API would create a second instance for it", ref.Name, to.Kind, to.Name)
	}
	return ""
}

// InfraTaken refuses that a Machine refers to a provider's object of another Machine, or no longer refers to its own. Deleting a Machine deletes the
// provider's object to which the Machine refers, even if that object belongs to another Machine. And the provider's object to which a Machine referred before
// keeps running its instance, so a new provider's object would be a second instance. The rule also refuses a reference to a provider's object under the name
// of a Machine API Machine (Namesake), because most providers find an instance by that name.
func InfraTaken(c policies.Change) policies.Verdict {
	if from := InfraReferenceOf(c.Old); refersAnew(c) && from.Name != "" && !refersToItsOwn(c) && c.Facts.Twin != nil && !stand(c).locked() {
		return policies.Deny(field.Forbidden(infraRefPath, fmt.Sprintf(
			"%s %s runs this Machine's instance, and another infrastructure machine would be a second one: leave it as it is; "+
				"for another instance create another Machine",
			from.Kind, from.Name)))
	}
	owner := takenFrom(c)
	to := InfraReferenceOf(c.New)
	if owner == "" && c.Facts.Namesake && refersAnew(c) {
		return policies.Deny(field.Invalid(infraRefPath.Child("name"), to.Name, fmt.Sprintf(
			"Machine API has a Machine %s, and most providers find an instance by the name of their machine: two controllers would act on its instance. "+
				"Refer to a %s of another name, such as %s",
			to.Name, to.Kind, c.Name)))
	}
	if owner == "" {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(infraRefPath.Child("name"), to.Name, fmt.Sprintf(
		"%s %s belongs to Machine %s, so deleting this Machine would delete that one's instance: refer to another infrastructure machine", to.Kind, to.Name, owner)))
}

// refersAnew reports whether a request makes a Machine refer to another infrastructure machine than before.
func refersAnew(c policies.Change) bool {
	return !binds(c.Actor) && InfraReferenceOf(c.New) != InfraReferenceOf(c.Old)
}

// Namesake returns the name of the provider's machine that a Cluster API Machine refers to, if the request makes the Machine refer to a provider's machine
// with another name than the Machine's. It returns "" otherwise. A Machine API Machine of the returned name has an instance of that name, or will have one.
func Namesake(c policies.Change) string {
	if to := InfraReferenceOf(c.New); refersAnew(c) && to.Name != c.Name {
		return to.Name
	}
	return ""
}

// NamedAsInfra is the reverse of InfraTaken: it refuses a new Machine API Machine under the name of a provider's machine that runs another Machine's
// instance. The new Machine's mirror would need a provider's machine of that name. Machine API's controllers, too, find an instance by the Machine's name on
// most platforms.
func NamedAsInfra(c policies.Change) policies.Verdict {
	infra := c.Facts.InfraNamesake
	if infra == nil || !namesAnew(c) || c.Facts.Twin != nil {
		return policies.Verdict{}
	}
	owner := belongsToAnother(infra, c.Name)
	if owner == "" {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(field.NewPath("metadata", "name"), c.Name, fmt.Sprintf(
		"%s %s of Cluster API belongs to Machine %s. Most providers find an instance by the name of their machine, so two controllers would act on the instance of "+
			"that one, and this Machine could not be mirrored: create it under another name",
		infra.Kind, infra.Metadata.Name, owner)))
}

// namesAnew reports whether somebody chooses the name of a new Machine API Machine. The names that Machine API's sets choose are random, so they do not
// count.
func namesAnew(c policies.Change) bool {
	return c.Name != "" && c.Actor != policies.Poundlock && c.Actor != policies.MachineAPIController
}

// refersToItsOwn reports whether a request makes a Machine that referred to another's infrastructure machine refer to the infrastructure machine of the
// Machine's own name again. A mirrored Machine refers to the infrastructure machine of its own name.
func refersToItsOwn(c policies.Change) bool {
	return InfraReferenceOf(c.Old).Name != c.Name && InfraReferenceOf(c.New).Name == c.Name
}

// takenFrom returns the name of another Machine to which the provider's object belongs. It returns "" if the object belongs to no other Machine, or if the
// request does not change the reference.
func takenFrom(c policies.Change) string {
	if c.Facts.Infra == nil || !refersAnew(c) {
		return ""
	}
	return belongsToAnother(c.Facts.Infra, c.Name)
}

// belongsToAnother returns the name of a Machine to which a provider's machine belongs, if that is not the Machine called name. It returns "" otherwise.
func belongsToAnother(infra *policies.Object, name string) string {
	if kind, other, ok := strings.Cut(infra.Metadata.Annotations[MirrorAnnotation], "/"); ok && kind == "Machine" && other != name {
		return other
	}
	for _, other := range MachineOwners(infra) {
		if other != name {
			return other
		}
	}
	return ""
}

// InfraOfAnother returns the name of another Machine to which a provider's machine belongs, although the given Machine refers to that provider's machine. The
// other Machine is the owner, or, if there is no owner, the Machine that MirrorAnnotation names. It returns "" if there is no other Machine. Cluster API lets
// no second Machine become the owner.
func InfraOfAnother(infra *policies.Object, machine string) string {
	if infra == nil || slices.Contains(MachineOwners(infra), machine) {
		return ""
	}
	if owners := MachineOwners(infra); len(owners) > 0 {
		return owners[0]
	}
	return belongsToAnother(infra, machine)
}

// InfraReference is spec.infrastructureRef of a Cluster API Machine.
type InfraReference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// InfraReferenceOf returns a Machine's spec.infrastructureRef. It returns the zero value if there is no Machine, or no reference that can be read.
func InfraReferenceOf(machine *policies.Object) InfraReference {
	var spec struct {
		InfrastructureRef InfraReference `json:"infrastructureRef"`
	}
	if machine != nil {
		_ = json.Unmarshal(orNull(machine.Spec), &spec)
	}
	return spec.InfrastructureRef
}

// RefersElsewhere reports whether a Cluster API Machine refers to another provider's machine than the one under review.
func RefersElsewhere(machine *policies.Object, c policies.Change) bool {
	to := InfraReferenceOf(machine)
	return to.Name != "" && (to.Name != c.Name || to.APIGroup != c.Resource.Group)
}

// names reports whether the reference names the provider's object under review.
func (r InfraReference) names(c policies.Change) bool {
	return r.APIGroup == c.Resource.Group && r.Name == c.Name && (c.New == nil || r.Kind == c.New.Kind)
}
