// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

// Actuator is what differs between the platforms' actuators of the Machine API: which fields of a providerSpec a simulation reads, and where it writes the
// state. The zero value: machinetest simulates the platform itself, as it does for AWS.
type Actuator struct {
	// Needs is the field that a providerSpec must have. Type, Zone and Image are the providerSpec's fields for what to create and where; "" if the platform has no
	// such field.
	Needs, Type, Zone, Image string
	// ID and State are the fields of the providerStatus that describe the instance; State is "" if there is none.
	ID, State string
	// Words are the platform's words for an instance that is pending, running, stopped, shutting down and terminated. nil: EC2's words.
	Words []string
}

// Controller is what differs between the providers' machine controllers, as far as Cluster API and Poundlock see it: what a simulation reads and writes. All of
// these controllers follow the contract v1beta1: status.ready, status.addresses, status.failureReason and status.failureMessage.
type Controller struct {
	// Account is the ServiceAccount of the provider's manager.
	Account string
	// Size and Image are the spec's fields for what to create. Zone is the zone in which the controller creates an instance by default.
	Size, Image, Zone string
	// ID is the field in which the controller writes the instance's ID, besides spec.providerID; "" for none.
	ID string
	// State is the field in which the controller writes the instance's state; "" for none.
	State string
	// Ready is the type of the provider's own condition for a ready instance; "" if the status has no conditions.
	Ready string
	// Answers is how the controller acknowledges that an object is paused, and that it is unpaused.
	Answers Answer
	// HoldsFirst reports that the controller adds its finalizer before it checks for a pause, and removes the finalizer from an object that is deleted before it
	// has an owner.
	HoldsFirst bool
	// KeptID and KeptSpec are for a platform with an InfraInstance. KeptID is the InfraInstance's field for the instance's ID. KeptSpec makes the InfraInstance's
	// spec from the spec of its machine, as the controller does.
	KeptID   string
	KeptSpec func(machine map[string]any) map[string]any
	// Finalizer is the controller's finalizer. "": its name follows the convention, as awsmachine.infrastructure.cluster.x-k8s.io does.
	Finalizer string
}

// Answer is how a provider acknowledges a pause.
type Answer int

const (
	// InSilence: the controller pauses, and does not acknowledge it.
	InSilence Answer = iota
	// ByCondition: by Paused in status.conditions, in the old form of conditions.
	ByCondition
	// ByNewCondition: by Paused in status.v1beta2.conditions.
	ByNewCondition
	// ByBlockMove: by the annotation that blocks `clusterctl move`, which exists while the controller acts on the object, and which the controller removes when
	// the object is paused.
	ByBlockMove
)

// Copied returns a Controller.KeptSpec that copies the given fields of the machine's spec. defaults are the fields that the new object requires.
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
