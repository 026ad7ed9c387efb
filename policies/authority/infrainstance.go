// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// InstanceHookAnnotation is Poundlock's own hook on a Machine of Cluster API while the provider keeps no object for its instance yet. The provider finds an
// instance by that object alone, so if the Machine were deleted before, its instance would be left behind. The value is the owner.
const (
	InstanceHookAnnotation = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/poundlock-until-provider-knows-instance"
	InstanceHookOwner      = "poundlock"
)

// InfraInstanceNamedAlike reports whether the object for an instance has the name of the provider's machine. vSphere uses the Machine's name, and the
// Machine may refer to a provider's machine of another name. It generates a name where the machine asks for it, and for a Windows machine whose name is too
// long.
func InfraInstanceNamedAlike(infraMachine *policies.Object) bool {
	var spec struct {
		NamingStrategy *struct{}
		OS             string
	}
	if infraMachine == nil {
		return true
	}
	_ = json.Unmarshal(orNull(infraMachine.Spec), &spec) // what cannot be read asks for nothing
	if providerOf(infraMachine.Kind).NamesInstanceAfterMachine &&
		slices.ContainsFunc(MachineOwners(infraMachine), func(name string) bool { return name != infraMachine.Metadata.Name }) {
		return false
	}
	return spec.NamingStrategy == nil && spec.OS != "Windows"
}

// KeptForAnother reports whether an object for an instance belongs to another machine of the provider, by its owner references. If two Machines refer to
// provider's machines of other names, the object of one may have the name of the other's machine.
func KeptForAnother(kind string, owners []metav1.OwnerReference, infraMachine string) bool {
	others := 0
	for _, ref := range owners {
		switch {
		case !OwnsInfraInstance(kind, ref):
		case ref.Name == infraMachine:
			return false
		default:
			others++
		}
	}
	return others > 0
}

// InfraNotServed is why a provider's object cannot be read although it may exist: its definition exists.
func InfraNotServed(kind, definition string) string {
	return fmt.Sprintf("The API server does not serve %s, whose definition %s exists, so Poundlock does not know what the provider's controllers do. Check "+
		"whether a version of the definition is served.",
		kind, definition)
}

// OwnsInfraInstance reports whether an owner reference of an object for an instance is the one to its provider's machine.
func OwnsInfraInstance(kind string, ref metav1.OwnerReference) bool {
	return kind != "" && InfraInstanceKind(ref.Kind) == kind
}

// InfraInstanceStandsStill refuses an object that somebody else creates in a provider's place, unpaused, for an instance that Machine API runs: a second
// controller would act on that instance at once.
func InfraInstanceStandsStill(c policies.Change) policies.Verdict {
	if s := stand(c); !unpausedByOthers(c) || !s.locked() {
		return policies.Verdict{}
	}
	return policies.Deny(field.Required(field.NewPath("metadata", "annotations").Key(PausedAnnotation), fmt.Sprintf(
		"Cluster API is not authoritative for %s, and the provider's controller would act on the Machine's instance through this %s: create it with the "+
			"annotation %s, or move the Machine first. After a move the provider creates the object: %s",
		there(c), kindOf(c), PausedAnnotation, moveTo(c, ClusterAPI))))
}

// unpausedByOthers reports whether somebody other than the provider creates an object that is not paused.
func unpausedByOthers(c policies.Change) bool {
	return c.Actor != policies.Poundlock && c.Actor != policies.InfrastructureController && c.New != nil && !c.New.HasAnnotation(PausedAnnotation)
}

// withInfraInstance is the provider's machine together with the object that it keeps for the instance, as one party: they are paused, awaited and released
// together. While they are to be paused, the party counts as paused once both are; while they are to act, it counts as paused until neither is.
func (o Objects) withInfraInstance(machine Party, current API) Party {
	if o.InfraInstance == nil || !machine.Exists {
		return machine
	}
	instance := party(o.InfraInstance, Condition{}, "")
	instance.Acknowledged = infraAcknowledged(o.InfraInstance, o.InfraInstancePausedLately)
	both := machine
	both.Deleting = machine.Deleting || instance.Deleting
	if machine.Acknowledged != instance.Acknowledged {
		both.Acknowledged = NotAcknowledged
	}
	if machine.PauseRequested == instance.PauseRequested {
		return both
	}
	both.PauseRequested = current == ClusterAPI
	if current == ClusterAPI { // a release that stopped half-way: what is still paused answers
		both.Acknowledged = machine.Acknowledged
		if instance.PauseRequested {
			both.Acknowledged = instance.Acknowledged
		}
	}
	return both
}

// leftForInstance is the provider's party where its machine is gone and the object for the instance is left. That object's controller still acts, and the
// mirror creates another machine of the same name that owns it. The collector deletes the object, which needs no waiting: once paused it terminates
// nothing, and the mirror removes its finalizer.
func (o Objects) leftForInstance() Party {
	left := party(o.InfraInstance, Condition{}, "")
	left.Acknowledged = infraAcknowledged(o.InfraInstance, o.InfraInstancePausedLately)
	left.Deleting = false
	return left
}

// instanceKept reports whether the provider can terminate the instance as soon as Cluster API is authoritative: it holds the object for the instance, and
// that object stays, or Poundlock's hook keeps the Machine until it does. The mirror creates either, and recreates it if it is deleted. A provider that
// acknowledges a pause adds its finalizer before it acknowledges.
func (o Objects) instanceKept() bool {
	if o.Infra == nil || !o.Kind.InfraActs() || o.InstancesUnserved || InfraInstanceKind(o.Infra.Kind) == "" || providerID(o.MachineAPI) == "" {
		return true
	}
	if i := o.InfraInstance; i != nil && !o.instanceOrphaned() {
		if Acknowledges(i.Kind) == ByCondition || i.HasFinalizer(InfraFinalizer(infraGroupOf(i), i.Kind)) {
			return true
		}
	}
	return o.ClusterAPI != nil && o.ClusterAPI.HasAnnotation(InstanceHookAnnotation)
}

// instanceOrphaned reports whether the object for the instance belonged to an earlier provider's machine of the same name, which is gone. The collector is
// about to delete the object, which would terminate the instance once it is unpaused.
func (o Objects) instanceOrphaned() bool {
	orphaned := false
	for _, ref := range o.InfraInstance.Metadata.OwnerReferences {
		switch {
		case ref.UID == o.Infra.Metadata.UID:
			return false
		case OwnsInfraInstance(o.InfraInstance.Kind, ref) && ref.Name == o.Infra.Metadata.Name:
			orphaned = true
		}
	}
	return orphaned
}

// keptForOtherInstance reports whether what the provider keeps for the instance names another instance than the Machine: its controller would act on that
// one. A person or a backup may have written it.
func (o Objects) keptForOtherInstance(id string) bool {
	kept := instanceKeyKept(o.InfraInstance)
	return kept != "" && kept != providerBehind(o.InfraInstance).instanceKey(id)
}

// KeptForOther is the ID of the instance for which an object is kept if a Machine does not have it; "" if it does, or the object names none.
func KeptForOther(kept, machine *policies.Object) string {
	if !(Objects{InfraInstance: kept}).keptForOtherInstance(providerID(machine)) {
		return ""
	}
	return KeptInstance(kept)
}

// KeptAlone reports whether what a provider keeps for an instance belongs to no machine of the provider. The provider and the mirror create each for a machine,
// so a person has.
func KeptAlone(kept *policies.Object) bool {
	return kept != nil && !slices.ContainsFunc(kept.Metadata.OwnerReferences, func(ref metav1.OwnerReference) bool { return OwnsInfraInstance(kept.Kind, ref) })
}

// ForeignKept reports whether what a provider would keep for the instance of a Machine is a person's, of no machine of the provider's, and is not kept for that
// instance: it is no part of the mirror, though it has the name.
func ForeignKept(kept, machineAPI *policies.Object) bool {
	return KeptAlone(kept) && (instanceKeyKept(kept) == "" || !keptFor(kept, providerID(machineAPI)))
}

// BesideKept refuses a Machine under the name of what a provider keeps for an instance, if a controller acts by that: it may find the instance of the Machine
// by its name. Its mirror's is paused.
func BesideKept(c policies.Change) policies.Verdict {
	kept := c.Facts.KeptNamesake
	if kept == nil || !namesAnew(c) || c.Facts.Twin != nil || stopped(kept) {
		return policies.Verdict{}
	}
	at := fmt.Sprintf("%s.%s %s", strings.ToLower(kept.Kind), infraGroupOf(kept), kept.Metadata.Name)
	what := fmt.Sprintf("%s %s/%s is not paused", kept.Kind, c.TwinNamespace, kept.Metadata.Name)
	remedy := fmt.Sprintf("first delete it together with its instance (kubectl -n %s delete %s), or ", c.TwinNamespace, at)
	switch {
	case kept.Deleting():
		what = fmt.Sprintf("%s %s/%s is being deleted", kept.Kind, c.TwinNamespace, kept.Metadata.Name)
		remedy = "wait until that object is gone and create the Machine then, or "
	case !KeptAlone(kept):
		remedy = "" // it runs another Machine's instance
	}
	return policies.Deny(field.Invalid(field.NewPath("metadata", "name"), c.Name, fmt.Sprintf(
		"%s, and its controller could act on the instance of this Machine, which it may find by the name: %screate the Machine under another name",
		what, remedy)))
}

// AlsoKept names, as a kind and a name, those of the objects that a provider keeps, all for one instance, that are not those of a Machine and of its provider's
// machine.
func AlsoKept(kept []*policies.Object, machine, infra string) []string {
	var out []string
	for _, o := range kept {
		owned := func(ref metav1.OwnerReference) bool { return OwnsInfraInstance(o.Kind, ref) && ref.Name == infra }
		if o.Metadata.Name != machine && o.Metadata.Name != infra && !slices.ContainsFunc(o.Metadata.OwnerReferences, owned) {
			out = append(out, o.Kind+" "+o.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out
}

// LetGoOfKept is how a person deletes the first of AlsoKept, and the instance keeps running: once it is paused, no controller acts by it, and none removes its
// finalizers.
func LetGoOfKept(namespace string, kept []string) string {
	kind, name, _ := strings.Cut(kept[0], " ")
	at := fmt.Sprintf("%s.%s %s", strings.ToLower(kind), clusterv1.GroupVersionInfrastructure.Group, name)
	return fmt.Sprintf("To delete %[4]s and keep the instance: kubectl -n %[1]s annotate %[2]s %[3]s=; "+
		`kubectl -n %[1]s delete --wait=false %[2]s; kubectl -n %[1]s patch %[2]s --type merge -p '{"metadata":{"finalizers":null}}'`,
		namespace, at, PausedAnnotation, kept[0])
}

// KeptOfAnother refuses what has a provider's controller act on the instance of another Machine: the deletion of the object by which it does, which terminates
// the instance, and the end of that object's pause.
func KeptOfAnother(c policies.Change) policies.Verdict {
	id := KeptInstance(c.Old)
	if !endsOrFreesKept(c) || len(c.Facts.Holders) == 0 || id == "" {
		return policies.Verdict{}
	}
	does := "act on it"
	if c.Operation == admissionv1.Delete {
		does = "terminate it"
	}
	return policies.Deny(field.Forbidden(field.NewPath(keptInstanceField(c.Old)), fmt.Sprintf(
		"%s is the instance of Machine %s, and the provider's controller would %s. %s",
		id, strings.Join(c.Facts.Holders, ", "), does, LetGoOfKept(c.Namespace, []string{kindOf(c) + " " + c.Name}))))
}

// endsOrFreesKept reports whether somebody deletes what a provider keeps for an instance, and its controller acts by it, or ends its pause. Kubernetes' own
// cleaners follow another deletion.
func endsOrFreesKept(c policies.Change) bool {
	if cleans(c) || c.Old == nil || KeptInstance(c.Old) == "" {
		return false
	}
	if c.Operation == admissionv1.Delete {
		return !c.Old.HasAnnotation(PausedAnnotation) && !c.Old.Deleting()
	}
	return c.Old.HasAnnotation(PausedAnnotation) && !c.New.HasAnnotation(PausedAnnotation)
}

// instanceKeyKept is the key of that ID.
func instanceKeyKept(kept *policies.Object) string {
	return providerBehind(kept).instanceKey(KeptInstance(kept))
}

// KeptInstance is the ID of the instance for which an object is kept; "" where it has none or cannot be read. vSphere has the UUID of the virtual machine in
// its spec, OpenStack the server's in its status.
func KeptInstance(kept *policies.Object) string {
	if kept == nil {
		return ""
	}
	var spec struct {
		BiosUUID string `json:"biosUUID"`
	}
	var status struct {
		InstanceID string `json:"instanceID"`
	}
	_ = json.Unmarshal(orNull(kept.Spec), &spec)
	_ = json.Unmarshal(orNull(kept.Status), &status)
	switch {
	case spec.BiosUUID != "":
		return "vsphere://" + spec.BiosUUID
	case status.InstanceID != "" && kept.Kind == "OpenStackServer":
		return "openstack:///" + status.InstanceID
	}
	return ""
}

// keptInstanceField is where that is.
func keptInstanceField(kept *policies.Object) string {
	if kept.Kind == "OpenStackServer" {
		return "status.instanceID"
	}
	return "spec.biosUUID"
}
