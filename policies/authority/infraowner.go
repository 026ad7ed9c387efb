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

// InfraOwner: a provider's controller acts on each of its machines that a Machine owns and that is not paused, even if the Machine is paused. So a
// provider's machine whose owner does not refer to it is a second instance of that Machine, and is deleted, with its instance, when the Machine is.
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

// gainsOwner reports whether a request gives an infrastructure machine to a Machine, or unpauses one that a Machine owns.
func gainsOwner(c policies.Change) bool { return len(newOwners(c)) > 0 }

// binds reports whether the actor is a controller that sets the owner of infrastructure machines.
func binds(a policies.Actor) bool {
	return a == policies.Poundlock || a == policies.ClusterAPIController
}

// newOwners are the Machines that can act through the object after the request and could not before, by their index in ownerReferences.
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

// InstanceOwner: the garbage collector deletes what has no owner that exists, and the provider terminates the instance of what it keeps for one. A manifest
// that was stored has the UID of a provider's machine that is gone.
func InstanceOwner(c policies.Change) policies.Verdict {
	var errs field.ErrorList
	for _, i := range newKeepers(c) {
		if why := goneKeeper(c, c.New.Metadata.OwnerReferences[i]); why != "" {
			errs = append(errs, field.Forbidden(ownersPath.Index(i), why))
		}
	}
	return policies.Deny(errs...)
}

// gainsKeeper reports whether a request makes a provider's machine the owner of what is kept for an instance.
func gainsKeeper(c policies.Change) bool { return len(newKeepers(c)) > 0 }

// newKeepers are the provider's machines that become the owners of what is kept for an instance, by their index in ownerReferences. A provider with an account
// of its own names its machine as it has just read it. vSphere's has none, so its requests are looked at.
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

// Keepers are the references of newKeepers, and where the owners change otherwise, those to provider's machines that stay.
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

// keeps reports whether an owner of what is kept for an instance is its provider's machine.
func keeps(c policies.Change, ref metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return OwnsInfraInstance(c.New.Kind, ref) && group == c.Resource.Group
}

// goneKeeper is why a provider's machine may not own what is kept for an instance; "" if it exists.
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

// InfraUnowned: the garbage collector deletes an object if it has owners and none exists, and the provider's controller then terminates the instance.
// InfraOwner and InstanceOwner look at the owners that a provider's objects have as a rule.
func InfraUnowned(c policies.Change) policies.Verdict {
	if !replacesOwners(c) || c.Facts.Twin == nil && c.Old != nil {
		return policies.Verdict{}
	}
	if c.Old == nil {
		return unowned(c, "its controller terminates the instance",
			"leave the owner references out. Cluster API and the provider's controllers restore them")
	}
	if stand(c).locked() || Granted(c, ownersPath.String(), Writes) { // while it is locked, InfraLocked refuses it
		return policies.Verdict{}
	}
	ref := c.New.Metadata.OwnerReferences[0]
	return policies.Deny(field.Forbidden(ownersPath.Index(0), fmt.Sprintf(
		"%s %s would replace the present owners of this %[3]s. If no object with that UID exists, or it is deleted later, the garbage collector deletes this "+
			"%[3]s, and its controller terminates the instance: leave the owner references as they are",
		ref.Kind, ref.Name, kindOf(c))))
}

// replacesOwners reports whether somebody gives a provider's object owners of other kinds than it has as a rule, and no other.
func replacesOwners(c policies.Change) bool {
	if binds(c.Actor) || c.Actor == policies.InfrastructureController || len(c.New.Metadata.OwnerReferences) == 0 || c.Old.Deleting() {
		return false
	}
	return !slices.ContainsFunc(c.New.Metadata.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return had(c.Old, ref) || ownsAsMachine(ref) || c.Kind == InfraInstance && OwnsInfraInstance(c.New.Kind, ref)
	})
}

// had reports whether an object has the owner already.
func had(o *policies.Object, ref metav1.OwnerReference) bool {
	return o != nil && slices.ContainsFunc(o.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == ref.UID && r.Name == ref.Name })
}

// ownsAsMachine reports whether a reference names a Machine of Cluster API, in any version: its controllers ignore the version.
func ownsAsMachine(ref metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return ref.Kind == "Machine" && group == clusterAPI.Group
}

// MachineOwners are the names of the Cluster API Machines that own an object.
func MachineOwners(o *policies.Object) []string {
	var out []string
	for _, ref := range o.Metadata.OwnerReferences {
		if ownsAsMachine(ref) {
			out = append(out, ref.Name)
		}
	}
	return out
}

// unpausedForItsEnd reports whether somebody unpauses a provider's machine whose Machine is being deleted: it has an instance, so that the provider creates
// none, and holds that before Cluster API deletes it (DeletionPaused). Beside a Machine API Machine, PausedOwned decides.
func unpausedForItsEnd(c policies.Change, machine *policies.Object, ref metav1.OwnerReference) bool {
	return machine.Deleting() && had(c.Old, ref) && providerID(c.Old) != "" && providerID(c.Old) == providerID(c.New)
}

// disowns is why the owner may not own the object; "" if it may.
func disowns(c policies.Change, ref metav1.OwnerReference) string {
	i := slices.IndexFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.Metadata.Name == ref.Name })
	if gone := i < 0 || c.Facts.Owners[i].Metadata.UID != ref.UID; gone && c.Old != nil && c.Old.Deleting() && had(c.Old, ref) {
		return "" // its Machine has gone before it: without the pause its controller terminates its instance, and creates none
	}
	if i < 0 {
		return fmt.Sprintf("there is no Machine %s of %s in this namespace", ref.Name, clusterAPI.Group)
	}
	machine := c.Facts.Owners[i]
	if machine.Metadata.UID != ref.UID {
		return fmt.Sprintf("the UID of Machine %s is %s, and the garbage collector deletes an object whose owner has another UID", ref.Name, machine.Metadata.UID)
	}
	if machine.HasAnnotation(PausedAnnotation) && !c.New.HasAnnotation(PausedAnnotation) && !unpausedForItsEnd(c, machine, ref) {
		return fmt.Sprintf("Machine %s is paused, but this object is not. The provider's controller only checks whether this object is paused, and would create "+
			"an instance while Machine API is authoritative", ref.Name)
	}
	if to := InfraReferenceOf(machine); !to.names(c) {
		return fmt.Sprintf("Machine %s refers to %s %s, so with this owner reference Cluster API would create a second instance for the Machine",
			ref.Name, to.Kind, to.Name)
	}
	return ""
}

// InfraTaken: deleting a Machine deletes the provider's object that it refers to, even if that belongs to another Machine. And the provider's object that a
// Machine referred to before keeps running its instance: a new one is a second instance.
func InfraTaken(c policies.Change) policies.Verdict {
	if from := InfraReferenceOf(c.Old); refersAnew(c) && from.Name != "" && !refersToItsOwn(c) && c.Facts.Twin != nil && !stand(c).locked() {
		return policies.Deny(field.Forbidden(infraRefPath, fmt.Sprintf(
			"%s %s runs this Machine's instance, and another infrastructure machine would create a second instance: leave the reference as it is. For another "+
				"instance create another Machine",
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

// refersAnew reports whether a request makes a Machine refer to another infrastructure machine than before.
func refersAnew(c policies.Change) bool {
	return !binds(c.Actor) && InfraReferenceOf(c.New) != InfraReferenceOf(c.Old)
}

// Namesake is the name of the provider's machine that a Cluster API Machine refers to, if the request makes it refer to one of another name than its own. A
// Machine API Machine of that name has an instance of that name, or will have one. "" for none.
func Namesake(c policies.Change) string {
	if to := InfraReferenceOf(c.New); refersAnew(c) && to.Name != c.Name {
		return to.Name
	}
	return ""
}

// NamedAsInfra is the reverse of InfraTaken: a Machine API Machine gets the name of a provider's machine that runs another Machine's instance. The mirror would
// need a provider's machine of that name, and Machine API's controllers, too, find an instance by the name on most platforms.
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

// namesAnew reports whether somebody chooses the name of a Machine API Machine. Machine API's sets choose random ones.
func namesAnew(c policies.Change) bool {
	return c.Name != "" && c.Actor != policies.Poundlock && c.Actor != policies.MachineAPIController
}

// refersToItsOwn reports whether a request makes a Machine that referred to another's infrastructure machine refer to the one of its own name again, which
// a mirrored Machine's is.
func refersToItsOwn(c policies.Change) bool {
	return InfraReferenceOf(c.Old).Name != c.Name && InfraReferenceOf(c.New).Name == c.Name
}

// takenFrom names another Machine to which the provider's object belongs; "" for none.
func takenFrom(c policies.Change) string {
	if c.Facts.Infra == nil || !refersAnew(c) {
		return ""
	}
	return belongsToAnother(c.Facts.Infra, c.Name)
}

// belongsToAnother names the Machine of another name to which a provider's machine belongs; "" for none.
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

// InfraOfAnother names the Machine of another name to which a provider's machine belongs that a Machine refers to: its owner, or, where it has none, the one of
// its mark; "" for none. Cluster API lets no second Machine become the owner.
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

// InfraReferenceOf reads a Machine's reference; the zero one of no Machine, and where there is none that can be read.
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

// names reports whether the reference is to the provider's object under review.
func (r InfraReference) names(c policies.Change) bool {
	return r.APIGroup == c.Resource.Group && r.Name == c.Name && (c.New == nil || r.Kind == c.New.Kind)
}
