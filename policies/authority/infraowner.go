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
	for i, ref := range newOwners(c) {
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
func newOwners(c policies.Change) map[int]metav1.OwnerReference {
	if binds(c.Actor) {
		return nil
	}
	var before []metav1.OwnerReference
	if c.Old != nil && (!c.Old.HasAnnotation(PausedAnnotation) || c.New.HasAnnotation(PausedAnnotation)) {
		before = c.Old.Metadata.OwnerReferences
	}
	out := map[int]metav1.OwnerReference{}
	for i, ref := range c.New.Metadata.OwnerReferences {
		same := func(o metav1.OwnerReference) bool { return ownsAsMachine(o) && o.Name == ref.Name && o.UID == ref.UID }
		if ownsAsMachine(ref) && !slices.ContainsFunc(before, same) {
			out[i] = ref
		}
	}
	return out
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
		return fmt.Sprintf("the UID of Machine %s is %s, and the garbage collector deletes what has an owner of another", ref.Name, machine.Metadata.UID)
	}
	if machine.HasAnnotation(PausedAnnotation) && !c.New.HasAnnotation(PausedAnnotation) {
		return fmt.Sprintf("Machine %s is paused, and this object is not: the provider's controller obeys this object's pause alone, and would create an "+
			"instance while Machine API is authoritative", ref.Name)
	}
	if to := InfraReferenceOf(machine); !to.names(c) {
		return fmt.Sprintf("Machine %s refers to %s %s, and Cluster API would create a second instance for it", ref.Name, to.Kind, to.Name)
	}
	return ""
}

// InfraTaken: deleting a Machine deletes the provider's object that it refers to, even if that belongs to another Machine. And the provider's object that a
// Machine referred to before keeps running its instance: a new one is a second instance.
func InfraTaken(c policies.Change) policies.Verdict {
	if from := InfraReferenceOf(c.Old); refersAnew(c) && from.Name != "" && !refersToItsOwn(c) && c.Facts.Twin != nil && !stand(c).locked() {
		return policies.Deny(field.Forbidden(infraRefPath, fmt.Sprintf(
			"%s %s runs this Machine's instance, and another infrastructure machine would be a second one: leave it as it is; "+
				"for another instance create another Machine",
			from.Kind, from.Name)))
	}
	owner := takenFrom(c)
	if owner == "" {
		return policies.Verdict{}
	}
	to := InfraReferenceOf(c.New)
	return policies.Deny(field.Invalid(infraRefPath.Child("name"), to.Name, fmt.Sprintf(
		"%s %s belongs to Machine %s, so deleting this Machine would delete that one's instance: refer to another infrastructure machine", to.Kind, to.Name, owner)))
}

// refersAnew reports whether a request makes a Machine refer to another infrastructure machine than before.
func refersAnew(c policies.Change) bool {
	return !binds(c.Actor) && InfraReferenceOf(c.New) != InfraReferenceOf(c.Old)
}

// refersToItsOwn reports whether a request makes a Machine that referred to another's infrastructure machine refer to the one of its own name again, which
// a mirrored Machine's is.
func refersToItsOwn(c policies.Change) bool {
	return InfraReferenceOf(c.Old).Name != c.Name && InfraReferenceOf(c.New).Name == c.Name
}

// takenFrom names another Machine to which the provider's object belongs; "" for none.
func takenFrom(c policies.Change) string {
	infra := c.Facts.Infra
	if infra == nil || !refersAnew(c) {
		return ""
	}
	if kind, name, ok := strings.Cut(infra.Metadata.Annotations[MirrorAnnotation], "/"); ok && kind == "Machine" && name != c.Name {
		return name
	}
	for _, name := range MachineOwners(infra) {
		if name != c.Name {
			return name
		}
	}
	return ""
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
