// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// InstanceHookAnnotation is Poundlock's own hook on a Machine of Cluster API's whose instance the provider keeps no object for yet. A Machine that is deleted
// before the provider has made that object would leave its instance behind: the provider looks for an instance by it alone. The value is the owner.
const (
	InstanceHookAnnotation = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/poundlock-until-provider-knows-instance"
	InstanceHookOwner      = "poundlock"
)

// InfraInstanceNamedAlike reports whether the object for an instance has the name of the provider's machine. vSphere gives it the Machine's, which may refer to
// a machine of another name, and makes up another one where the machine asks for it, and for a Windows machine whose name is too long.
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

// KeptForAnother reports whether an object for an instance is not that of this machine of the provider's, by its owner references. Of two Machines that refer
// to machines of other names, the one's object may have the name of the other's machine.
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

// InfraNotServed is why a provider's object cannot be looked at, which may exist: its definition does.
func InfraNotServed(kind, definition string) string {
	return fmt.Sprintf("The API server does not serve %s, whose definition %s exists: what the provider's controllers do is not known. "+
		"See whether a version of the definition is served.",
		kind, definition)
}

// OwnsInfraInstance reports whether an owner reference of an object for an instance is the one to its provider's machine.
func OwnsInfraInstance(kind string, ref metav1.OwnerReference) bool {
	return kind != "" && InfraInstanceKind(ref.Kind) == kind
}

// InfraInstanceStandsStill refuses what somebody makes in a provider's place for an instance that Machine API runs: the second controller would act on it at
// once.
func InfraInstanceStandsStill(c policies.Change) policies.Verdict {
	if s := stand(c); !unpausedByOthers(c) || !s.locked() {
		return policies.Verdict{}
	}
	return policies.Deny(field.Required(field.NewPath("metadata", "annotations").Key(PausedAnnotation), fmt.Sprintf(
		"Cluster API is not authoritative for %s, and the provider's controller would act on its instance by this %s: "+
			"create it with the annotation %s, or move the Machine first, after which the provider makes it: %s",
		there(c), kindOf(c), PausedAnnotation, moveTo(c, ClusterAPI))))
}

// unpausedByOthers reports whether somebody but the provider makes an object that is not paused.
func unpausedByOthers(c policies.Change) bool {
	return c.Actor != policies.Poundlock && c.Actor != policies.InfrastructureController && c.New != nil && !c.New.HasAnnotation(PausedAnnotation)
}

// withInfraInstance is the provider's party together with the object that it keeps for the instance. They are paused, awaited and released as one: while they
// have to stand still the party is paused once both are, and while they are to act it is paused until neither is.
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

// leftForInstance is the provider's party where its machine is gone and what it kept for the instance is left: that one acts on, and the mirror makes another
// machine of the name that owns it. The collector deletes it, which is nothing to wait for: once it is paused it terminates nothing, and the mirror lets it go.
func (o Objects) leftForInstance() Party {
	left := party(o.InfraInstance, Condition{}, "")
	left.Acknowledged = infraAcknowledged(o.InfraInstance, o.InfraInstancePausedLately)
	left.Deleting = false
	return left
}

// instanceKept reports whether the provider will see to the instance as soon as Cluster API is authoritative: it holds its object for that, which stays, or
// Poundlock's hook keeps the Machine until it does. The mirror sees to either, and makes them again where they go. A provider that acknowledges a pause puts
// its finalizer on before it does.
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

// instanceOrphaned reports whether the object for the instance belonged to a machine of the provider's that is gone, of the name of the present one. The
// collector is about to delete it, which would end the instance once it acts.
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

// keptForOtherInstance reports whether what the provider keeps for the instance names another one than the Machine: its controller would act on that. Only
// vSphere's says it in its spec, where a person or a backup may have it from.
func (o Objects) keptForOtherInstance(id string) bool {
	bios := biosUUID(o.InfraInstance)
	return bios != "" && InstanceKey("vsphere://"+bios) != InstanceKey(id)
}

// biosUUID is that of the virtual machine which a VSphereVM is kept for; "" where it says none, or cannot be read.
func biosUUID(kept *policies.Object) string {
	var spec struct {
		BiosUUID string `json:"biosUUID"`
	}
	if kept != nil {
		_ = json.Unmarshal(orNull(kept.Spec), &spec)
	}
	return spec.BiosUUID
}
