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

// InstanceHookAnnotation is Poundlock's own preTerminate hook. Poundlock sets it on a Cluster API Machine while the provider does not keep an object for the
// Machine's instance yet. The provider finds an instance only by that object. So if the Machine were deleted before the object exists, the instance would be
// left behind. The annotation's value is the owner of the hook, InstanceHookOwner.
const (
	InstanceHookAnnotation = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/poundlock-until-provider-knows-instance"
	InstanceHookOwner      = "poundlock"
)

// InfraInstanceNamedAlike reports whether the object for an instance has the same name as the provider's machine. On vSphere it need not: vSphere names the
// object after the Machine, and the Machine may refer to a provider's machine of another name. vSphere generates a name if the provider's machine has a
// namingStrategy, and for a Windows machine whose name is too long.
func InfraInstanceNamedAlike(infraMachine *policies.Object) bool {
	var spec struct {
		NamingStrategy *struct{}
		OS             string
	}
	if infraMachine == nil {
		return true
	}
	_ = json.Unmarshal(orNull(infraMachine.Spec), &spec) // a spec that cannot be read asks for no generated name
	if providerOf(infraMachine.Kind).NamesInstanceAfterMachine &&
		slices.ContainsFunc(MachineOwners(infraMachine), func(name string) bool { return name != infraMachine.Metadata.Name }) {
		return false
	}
	return spec.NamingStrategy == nil && spec.OS != "Windows"
}

// KeptForAnother reports whether the owner references of an object for an instance name another machine of the provider than infraMachine. This can happen if
// two Machines refer to provider's machines of other names. The object for one Machine's instance may then have the name of the other Machine's provider's
// machine.
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

// InfraNotServed returns a message for a provider's object that may exist but cannot be read, because its CRD exists but the API server does not serve the
// kind.
func InfraNotServed(kind, definition string) string {
	return fmt.Sprintf("The API server does not serve %s, whose definition %s exists, so Poundlock does not know what the provider's controllers do. Check "+
		"whether a version of the definition is served.",
		kind, definition)
}

// OwnsInfraInstance reports whether an owner reference names the provider's machine of an instance. The reference is one of an object that the provider keeps
// for that instance, and kind is the kind of that object.
func OwnsInfraInstance(kind string, ref metav1.OwnerReference) bool {
	return kind != "" && InfraInstanceKind(ref.Kind) == kind
}

// InfraInstanceStandsStill refuses that somebody other than the provider creates an unpaused object for an instance that Machine API runs. Through that object,
// the provider's controller would act on the instance at once, as a second controller.
func InfraInstanceStandsStill(c policies.Change) policies.Verdict {
	if s := stand(c); !unpausedByOthers(c) || !s.locked() {
		return policies.Verdict{}
	}
	return policies.Deny(field.Required(field.NewPath("metadata", "annotations").Key(PausedAnnotation), fmt.Sprintf(
		"Cluster API is not authoritative for %s, and the provider's controller would act on the Machine's instance through this %s: create it with the "+
			"annotation %s, or move the Machine first. After a move the provider creates the object: %s",
		there(c), kindOf(c), PausedAnnotation, moveTo(c, ClusterAPI))))
}

// unpausedByOthers reports whether somebody other than the provider and Poundlock makes a request after which the object is not paused.
func unpausedByOthers(c policies.Change) bool {
	return c.Actor != policies.Poundlock && c.Actor != policies.InfrastructureController && c.New != nil && !c.New.HasAnnotation(PausedAnnotation)
}

// withInfraInstance returns one Party that stands for both the provider's machine and the object that the provider keeps for the instance, because both are
// paused, awaited and released together. If they are to be paused, the Party counts as paused only once both are paused. If they are to act, the Party counts
// as paused until both are unpaused.
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
	if current == ClusterAPI { // after a release that stopped half-way, the object that is still paused answers
		both.Acknowledged = machine.Acknowledged
		if instance.PauseRequested {
			both.Acknowledged = instance.Acknowledged
		}
	}
	return both
}

// leftForInstance returns the provider's Party if the provider's machine is gone and only the object for the instance is left. The controller of that object
// still acts. The mirror then recreates a provider's machine of the same name as owner of the object, but the garbage collector deletes the object because its
// first owner is gone. The move does not wait for that deletion, because a paused object terminates nothing and Poundlock removes the object's finalizer.
func (o Objects) leftForInstance() Party {
	left := party(o.InfraInstance, Condition{}, "")
	left.Acknowledged = infraAcknowledged(o.InfraInstance, o.InfraInstancePausedLately)
	left.Deleting = false
	return left
}

// instanceKept reports whether the provider will be able to terminate the instance as soon as Cluster API is authoritative. It will be if the provider holds
// the object for the instance and that object stays. It will also be if Poundlock's hook keeps the Machine until the provider holds such an object. Poundlock
// creates the object and the hook, and recreates them if they are deleted. A provider that acknowledges a pause by the condition adds its finalizer before it
// acknowledges. So the finalizer of such a provider is not checked.
func (o Objects) instanceKept() bool {
	if o.Infra == nil || !o.Kind.InfraActs() || o.InstancesUnserved || InfraInstanceKind(o.Infra.Kind) == "" || providerID(o.MachineAPI) == "" {
		return true
	}
	if i := o.InfraInstance; i != nil {
		if o.instanceOrphaned() {
			return false // also with the hook, which keeps the Machine, and not this object
		}
		if Acknowledges(i.Kind) == ByCondition || i.HasFinalizer(InfraFinalizer(infraGroupOf(i), i.Kind)) {
			return true
		}
	}
	return o.ClusterAPI != nil && o.ClusterAPI.HasAnnotation(InstanceHookAnnotation)
}

// instanceOrphaned reports whether the object for the instance belonged to an earlier provider's machine of the same name, which is gone. The garbage collector
// is about to delete such an object. If the object were unpaused, that deletion would terminate the instance.
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

// keptForOtherInstance reports whether the object that the provider keeps for the instance names another instance than id, the instance ID of the Machine. The
// provider's controller would act on that other instance. A person or a backup may have written such an object.
func (o Objects) keptForOtherInstance(id string) bool {
	kept := instanceKeyKept(o.InfraInstance)
	return kept != "" && kept != providerBehind(o.InfraInstance).instanceKey(id)
}

// KeptForOther returns the ID of the instance for which an object is kept, if that is not the ID of the Machine. It returns "" if the two IDs are equal, or if
// the object names no instance.
func KeptForOther(kept, machine *policies.Object) string {
	if !(Objects{InfraInstance: kept}).keptForOtherInstance(providerID(machine)) {
		return ""
	}
	return KeptInstance(kept)
}

// KeptAlone reports whether an object that a provider keeps for an instance has none of the provider's machines as owner. Then a person has created the object,
// because the provider and Poundlock create each such object for one of the provider's machines.
func KeptAlone(kept *policies.Object) bool {
	return kept != nil && !slices.ContainsFunc(kept.Metadata.OwnerReferences, func(ref metav1.OwnerReference) bool { return OwnsInfraInstance(kept.Kind, ref) })
}

// ForeignKept reports whether a person has made an object that has the name of what a provider would keep for a Machine's instance. That is so if none of the
// provider's machines owns the object, and the object is not kept for that instance. Such an object is not part of the mirror, although it has the name.
func ForeignKept(kept, machineAPI *policies.Object) bool {
	return KeptAlone(kept) && (instanceKeyKept(kept) == "" || !keptFor(kept, providerID(machineAPI)))
}

// BesideKept refuses a new Machine that has the name of an object which a provider keeps for an instance, unless that object is paused. The object's controller
// may find the instance of the new Machine by the name, and act on it. If the object belongs to the new Machine's own mirror, the object is paused.
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
		remedy = "" // the kept object runs another Machine's instance
	}
	return policies.Deny(field.Invalid(field.NewPath("metadata", "name"), c.Name, fmt.Sprintf(
		"%s, and its controller could find the instance of this Machine by the name, and act on the instance: %screate the Machine under another name",
		what, remedy)))
}

// AlsoKept returns those of the kept objects that belong neither to the Machine nor to the Machine's provider's machine (infra). Each is given as a kind and a
// name. All objects in kept are kept for one instance.
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

// LetGoOfKept returns the commands by which a person deletes the first of the objects of AlsoKept without terminating the instance. The first command pauses
// the object. Then no controller acts through it, and none removes its finalizers, so the last command removes the finalizers.
func LetGoOfKept(namespace string, kept []string) string {
	kind, name, _ := strings.Cut(kept[0], " ")
	at := fmt.Sprintf("%s.%s %s", strings.ToLower(kind), clusterv1.GroupVersionInfrastructure.Group, name)
	return fmt.Sprintf("To delete %[4]s and keep the instance: kubectl -n %[1]s annotate %[2]s %[3]s=; "+
		`kubectl -n %[1]s delete --wait=false %[2]s; kubectl -n %[1]s patch %[2]s --type merge -p '{"metadata":{"finalizers":null}}'`,
		namespace, at, PausedAnnotation, kept[0])
}

// KeptOfAnother refuses two requests by which a provider's controller would act on the instance of another Machine. One is the deletion of the object that is
// kept for that instance, which terminates the instance. The other is the end of that object's pause.
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

// endsOrFreesKept reports whether somebody deletes an unpaused object that a provider keeps for an instance, or unpauses such an object. It is false for the
// garbage collector and the namespace controller, because their deletions follow another deletion.
func endsOrFreesKept(c policies.Change) bool {
	if cleans(c) || c.Old == nil || KeptInstance(c.Old) == "" {
		return false
	}
	if c.Operation == admissionv1.Delete {
		return !c.Old.HasAnnotation(PausedAnnotation) && !c.Old.Deleting()
	}
	return c.Old.HasAnnotation(PausedAnnotation) && !c.New.HasAnnotation(PausedAnnotation)
}

// instanceKeyKept returns the instance ID of KeptInstance as an instanceKey.
func instanceKeyKept(kept *policies.Object) string {
	return providerBehind(kept).instanceKey(KeptInstance(kept))
}

// KeptInstance returns the ID of the instance for which an object is kept. It returns "" if the object has no ID or cannot be read. vSphere stores the UUID of
// the virtual machine in the object's spec, and OpenStack stores the server's ID in the object's status.
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

// keptInstanceField returns the path of the field from which KeptInstance reads the ID.
func keptInstanceField(kept *policies.Object) string {
	if kept.Kind == "OpenStackServer" {
		return "status.instanceID"
	}
	return "spec.biosUUID"
}
