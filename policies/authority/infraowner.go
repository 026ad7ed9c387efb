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

// InfraOwner refuses that a Machine owns a provider's machine in three cases: no Machine with this UID exists, the Machine is paused and the provider's machine
// is not, or the Machine does not refer to that provider's machine (disowns). A provider's controller acts on each provider's machine that has a Machine as
// owner and is not paused, even if the Machine is paused. So a provider's machine to which its owner does not refer becomes a second instance of that Machine.
// It is deleted, with its instance, when the Machine is deleted.
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

// gainsOwner reports whether a request makes a Machine the owner of an infrastructure machine, or unpauses an infrastructure machine that has a Machine as
// owner.
func gainsOwner(c policies.Change) bool { return len(newOwners(c)) > 0 }

// binds reports whether the actor is a controller whose task it is to set the owner of infrastructure machines.
func binds(a policies.Actor) bool {
	return a == policies.Poundlock || a == policies.ClusterAPIController
}

// newOwners returns the owning Machines for which the provider's controller will act on the object after the request, and did not act on it before. They are
// given as indices in ownerReferences.
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

// InstanceOwner refuses an owner reference from the object that a provider keeps for an instance to a provider's machine that does not exist. A manifest that
// was stored may have such a reference, with the UID of a provider's machine that is gone. The garbage collector deletes an object if none of its owners
// exists, and the provider then terminates the instance.
func InstanceOwner(c policies.Change) policies.Verdict {
	var errs field.ErrorList
	for _, i := range newKeepers(c) {
		if why := goneKeeper(c, c.New.Metadata.OwnerReferences[i]); why != "" {
			errs = append(errs, field.Forbidden(ownersPath.Index(i), why))
		}
	}
	return policies.Deny(errs...)
}

// gainsKeeper reports whether a request makes a provider's machine an owner of the object that is kept for an instance.
func gainsKeeper(c policies.Change) bool { return len(newKeepers(c)) > 0 }

// newKeepers returns the provider's machines that a request newly makes owners of the object that is kept for an instance, as indices in ownerReferences. It
// returns none if a provider's controllers with an account of their own make the request, because they name a provider's machine that they have just read.
// vSphere's controllers have no account of their own, so their requests are examined like a user's.
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

// Keepers returns the owner references whose provider's machines a rule has to look up. These are the references of newKeepers. But if the request changes the
// object's owners (changesItsOwners), they are all references to provider's machines that the object has after the request.
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

// keeps reports whether an owner reference of an object that is kept for an instance names the provider's machine of that instance.
func keeps(c policies.Change, ref metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return OwnsInfraInstance(c.New.Kind, ref) && group == c.Resource.Group
}

// goneKeeper returns the reason why a provider's machine may not own the object that is kept for an instance: no provider's machine of that name and UID
// exists. It returns "" if there is one.
func goneKeeper(c policies.Change, ref metav1.OwnerReference) string {
	const follows = "so the garbage collector would delete this %s. Unless it is paused, its controller would then terminate the instance: "
	i := slices.IndexFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.Kind == ref.Kind && o.Metadata.Name == ref.Name })
	if i < 0 {
		return fmt.Sprintf("there is no %s %s in this namespace, "+follows+"leave the owner reference out", ref.Kind, ref.Name, kindOf(c))
	}
	if uid := c.Facts.Owners[i].Metadata.UID; uid != ref.UID {
		return fmt.Sprintf("the owner reference does not have the UID of %s %s "+
			"(%s), "+follows+"leave the owner reference out, or write this UID", ref.Kind, ref.Name, uid, kindOf(c))
	}
	return ""
}

// InfraUnowned refuses owners of kinds that a provider's object does not usually have as owners. On a new object it refuses them if none of them exists, and it
// warns if Poundlock may not read one of them. On an existing object it refuses them if they replace all owners that the object had. The garbage collector
// deletes an object with owners if none of the owners exists, and the provider's controller then terminates the instance. The owners that a provider's objects
// usually have are checked by InfraOwner and InstanceOwner.
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
		"%s %s would replace the present owners of this %[3]s. If no object with that UID exists, or the object is deleted later, the garbage collector deletes "+
			"this "+
			"%[3]s, and its controller terminates the instance: leave the owner references as they are",
		ref.Kind, ref.Name, kindOf(c))))
}

// replacesOwners reports whether, after the request, a provider's object has only owners that it did not have before, and only owners of kinds that are not
// usual for such an object.
func replacesOwners(c policies.Change) bool {
	if binds(c.Actor) || c.Actor == policies.InfrastructureController || len(c.New.Metadata.OwnerReferences) == 0 || c.Old.Deleting() {
		return false
	}
	return !slices.ContainsFunc(c.New.Metadata.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return had(c.Old, ref) || ownsAsMachine(ref) || c.Kind == InfraInstance && OwnsInfraInstance(c.New.Kind, ref)
	})
}

// had reports whether the object already has the owner, with the same name and UID.
func had(o *policies.Object, ref metav1.OwnerReference) bool {
	return o != nil && slices.ContainsFunc(o.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == ref.UID && r.Name == ref.Name })
}

// ownsAsMachine reports whether an owner reference names a Cluster API Machine, of any version. Cluster API's controllers ignore the version of an owner
// reference.
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

// unpausedForItsEnd reports whether somebody unpauses a provider's machine whose Machine is being deleted, so that this deletion can complete. The provider's
// machine has an instance ID, so the provider creates no instance. Once it is unpaused, the provider adds its finalizer, before Cluster API deletes the
// provider's machine (DeletionPaused). If there is a Machine API Machine, PausedOwned decides about the pause.
func unpausedForItsEnd(c policies.Change, machine *policies.Object, ref metav1.OwnerReference) bool {
	return machine.Deleting() && had(c.Old, ref) && providerID(c.Old) != "" && providerID(c.Old) == providerID(c.New)
}

// disowns returns the reason why the owner may not own the object. It returns "" if the owner may own it.
func disowns(c policies.Change, ref metav1.OwnerReference) string {
	i := slices.IndexFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.Metadata.Name == ref.Name })
	if gone := i < 0 || c.Facts.Owners[i].Metadata.UID != ref.UID; gone && c.Old != nil && c.Old.Deleting() && had(c.Old, ref) {
		return "" // the Machine is gone already: when unpaused, the provider's controller terminates the instance and creates none
	}
	if i < 0 {
		return fmt.Sprintf("there is no Machine %s of %s in this namespace", ref.Name, clusterAPI.Group)
	}
	machine := c.Facts.Owners[i]
	if machine.Metadata.UID != ref.UID {
		return fmt.Sprintf("the owner reference does not have the UID of Machine %s (%s), and the garbage collector deletes an object if no owner with the UID of "+
			"the reference exists", ref.Name, machine.Metadata.UID)
	}
	if machine.HasAnnotation(PausedAnnotation) && !c.New.HasAnnotation(PausedAnnotation) && !unpausedForItsEnd(c, machine, ref) {
		return fmt.Sprintf("Machine %s is paused, but this object is not. The provider's controller only checks whether this object is paused, and would create "+
			"an instance while Machine API is authoritative", ref.Name)
	}
	if to := InfraReferenceOf(machine); !to.names(c) {
		return fmt.Sprintf("Machine %s has another infrastructure machine: its spec.infrastructureRef names %s %s. If the Machine owned this object too, "+
			"Cluster API would create a second instance for it", ref.Name, to.Kind, to.Name)
	}
	return ""
}

// InfraTaken refuses that a Machine refers to the provider's object of another Machine, or stops referring to its own. When a Machine is deleted, the
// provider's object to which it refers is deleted too, even if that object belongs to another Machine. And the provider's object to which the Machine referred
// before keeps running its instance, so another provider's object would be a second instance. The rule also refuses a reference to a provider's object that has
// the name of a Machine API Machine (Namesake), because most providers find an instance by that name.
func InfraTaken(c policies.Change) policies.Verdict {
	if from := InfraReferenceOf(c.Old); refersAnew(c) && from.Name != "" && !refersToItsOwn(c) && c.Facts.Twin != nil && !stand(c).locked() {
		return policies.Deny(field.Forbidden(infraRefPath, fmt.Sprintf(
			"%s %s runs this Machine's instance, and another infrastructure machine would create a second instance: leave spec.infrastructureRef as it is. For "+
				"another instance, create another Machine",
			from.Kind, from.Name)))
	}
	owner := takenFrom(c)
	to := InfraReferenceOf(c.New)
	if owner == "" && c.Facts.Namesake && refersAnew(c) {
		return policies.Deny(field.Invalid(infraRefPath.Child("name"), to.Name, fmt.Sprintf(
			"Machine API has a Machine %s, and most providers find an instance by the name of the infrastructure machine. So two controllers would act on that "+
				"Machine's instance. Refer to a %s of another name, such as %s",
			to.Name, to.Kind, c.Name)))
	}
	if owner == "" {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(infraRefPath.Child("name"), to.Name, fmt.Sprintf(
		"%s %s belongs to Machine %s, so deleting this Machine would terminate the instance of that other Machine: refer to another infrastructure machine",
		to.Kind, to.Name, owner)))
}

// refersAnew reports whether a request makes a Machine refer to a different infrastructure machine than before.
func refersAnew(c policies.Change) bool {
	return !binds(c.Actor) && InfraReferenceOf(c.New) != InfraReferenceOf(c.Old)
}

// Namesake returns the name of the provider's machine to which the request makes a Cluster API Machine refer, if that name is not the Machine's own name. It
// returns "" otherwise. If a Machine API Machine has the returned name, it has an instance of that name, or will have one.
func Namesake(c policies.Change) string {
	if to := InfraReferenceOf(c.New); refersAnew(c) && to.Name != c.Name {
		return to.Name
	}
	return ""
}

// NamedAsInfra refuses a new Machine API Machine that has the name of a provider's machine which runs another Machine's instance. It is the reverse of
// InfraTaken. The mirror of the new Machine would need a provider's machine of that name. Machine API's controllers, too, find an instance by the Machine's
// name on most platforms.
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
		"%s %s of Cluster API belongs to Machine %s. Most providers find an instance by the name of the infrastructure machine, so two controllers would act on "+
			"the instance of that other Machine. Poundlock could not mirror this Machine either: create it under another name",
		infra.Kind, infra.Metadata.Name, owner)))
}

// namesAnew reports whether somebody chooses the name of a new Machine API Machine. It is false if Machine API's sets create the Machine, because the names
// that they choose are random.
func namesAnew(c policies.Change) bool {
	return c.Name != "" && c.Actor != policies.Poundlock && c.Actor != policies.MachineAPIController
}

// refersToItsOwn reports whether a request makes a Machine refer again to the infrastructure machine of the Machine's own name, after it referred to that of
// another Machine. A mirrored Machine refers to the infrastructure machine of its own name.
func refersToItsOwn(c policies.Change) bool {
	return InfraReferenceOf(c.Old).Name != c.Name && InfraReferenceOf(c.New).Name == c.Name
}

// takenFrom returns the name of another Machine to which the provider's object belongs. It returns "" if there is no such Machine, or if the request does not
// change the reference to the provider's object.
func takenFrom(c policies.Change) string {
	if c.Facts.Infra == nil || !refersAnew(c) {
		return ""
	}
	return belongsToAnother(c.Facts.Infra, c.Name)
}

// belongsToAnother returns the name of a Machine, other than the Machine called name, to which a provider's machine belongs. It returns "" if there is none.
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

// InfraOfAnother returns the name of another Machine to which a provider's machine belongs, although the Machine called machine refers to it. The other Machine
// is the owner or, if there is no owner, the Machine that MirrorAnnotation names. It returns "" if there is no other Machine. A provider's machine has only one
// Machine as owner, because Cluster API lets no second Machine become an owner.
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

// RefersElsewhere reports whether a Cluster API Machine refers to a provider's machine other than the one under review.
func RefersElsewhere(machine *policies.Object, c policies.Change) bool {
	to := InfraReferenceOf(machine)
	return to.Name != "" && (to.Name != c.Name || to.APIGroup != c.Resource.Group)
}

// names reports whether the reference names the provider's object under review.
func (r InfraReference) names(c policies.Change) bool {
	return r.APIGroup == c.Resource.Group && r.Name == c.Name && (c.New == nil || r.Kind == c.New.Kind)
}
