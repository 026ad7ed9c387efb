// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

// Actuator describes how a platform's actuator of the Machine API differs from the others': which fields of a providerSpec a simulation reads, and where the
// simulation writes the instance's state. With the zero value, machinetest simulates the platform by itself, as it does for AWS.
type Actuator struct {
	// Needs is the field that a providerSpec must have. Type, Zone and Image are the providerSpec's fields for what to create and where. A field is "" if the
	// platform has no such field.
	Needs, Type, Zone, Image string
	// ID and State are the fields of the providerStatus that describe the instance; State is "" if there is none.
	ID, State string
	// Words are the platform's names for the states of an instance: pending, running, stopped, shutting down and terminated, in this order. nil means EC2's
	// names.
	Words []string
}

// Controller describes how a provider's machine controller differs from the others', as far as Cluster API and Poundlock see it: what a simulation reads and
// writes. All of these controllers follow the contract v1beta1: status.ready, status.addresses, status.failureReason and status.failureMessage.
type Controller struct {
	// Account is the ServiceAccount of the provider's manager.
	Account string
	// Size and Image are the spec's fields for what to create. Zone is the zone in which the controller creates an instance if nothing names a zone.
	Size, Image, Zone string
	// ID is the field in which the controller writes the instance's ID, besides spec.providerID; "" for none.
	ID string
	// State is the field in which the controller writes the instance's state; "" for none.
	State string
	// Ready is the type of the provider's own condition for a ready instance; "" if the status has no conditions.
	Ready string
	// Answers is the way in which the controller acknowledges that an object is paused or unpaused.
	Answers Answer
	// HoldsFirst reports two things about the controller. It adds its finalizer before it checks for a pause. And it removes the finalizer from an object that
	// is deleted before the object has an owner.
	HoldsFirst bool
	// KeptID and KeptSpec are for a platform with an InfraInstance. KeptID is the InfraInstance's field for the instance's ID. KeptSpec makes the
	// InfraInstance's spec from the spec of the InfraInstance's machine, as the controller does.
	KeptID   string
	KeptSpec func(machine map[string]any) map[string]any
	// Finalizer is the controller's finalizer. "" means that its name follows the convention, like awsmachine.infrastructure.cluster.x-k8s.io.
	Finalizer string
}

// Answer is the way in which a provider acknowledges a pause.
type Answer int

const (
	// InSilence: the controller obeys the pause but does not acknowledge it.
	InSilence Answer = iota
	// ByCondition: by the condition Paused in status.conditions, which has the old form of conditions.
	ByCondition
	// ByNewCondition: by the condition Paused in status.v1beta2.conditions.
	ByNewCondition
	// ByBlockMove: by the annotation that blocks `clusterctl move`. The object has the annotation while the controller acts on the object. The controller
	// removes it when the object is paused.
	ByBlockMove
)

// Copied returns a function for Controller.KeptSpec, which copies the given fields of the machine's spec. defaults are the fields that the new object
// requires.
func Copied(defaults map[string]any, fields ...string) func(machine map[string]any) map[string]any {
	return func(machine map[string]any) map[string]any {
		out := map[string]any{}
		for k, v := range defaults {
			out[k] = v
		}
		for _, f := range fields {
			if v, ok := machine[f]; ok {
				out[f] = v
			}
		}
		return out
	}
}
