// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies"
)

// InfraInstanceKind is the kind of the object that some providers keep for each instance, beside the machine of theirs that owns it; "" where a provider has
// none. A controller of its own acts on the cloud because of it, and obeys the pause of this object alone, not its owner's.
func InfraInstanceKind(infraMachine string) string {
	switch infraMachine {
	case "OpenStackMachine":
		return "OpenStackServer"
	case "VSphereMachine":
		return "VSphereVM"
	}
	return ""
}

// InfraInstanceNamedAlike reports whether the object for an instance has the name of the provider's machine. vSphere makes up another one where the machine
// asks for it, and for a Windows machine whose name is too long.
func InfraInstanceNamedAlike(infraMachine *policies.Object) bool {
	var spec struct {
		NamingStrategy *struct{}
		OS             string
	}
	if infraMachine == nil {
		return true
	}
	_ = json.Unmarshal(orNull(infraMachine.Spec), &spec) // what cannot be read asks for nothing
	return spec.NamingStrategy == nil && spec.OS != "Windows"
}

// OwnsInfraInstance reports whether an owner reference of an object for an instance is the one to its provider's machine.
func OwnsInfraInstance(kind string, ref metav1.OwnerReference) bool {
	return kind != "" && InfraInstanceKind(ref.Kind) == kind
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
