// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

// Actuator is how the platforms' actuators of the Machine API differ: what a simulation reads of a providerSpec, and where it writes the state. The zero value:
// machinetest simulates the platform itself, as for AWS.
type Actuator struct {
	// Needs is what a providerSpec must have. Type, Zone and Image are its fields for what to create and where, on platforms that have them.
	Needs, Type, Zone, Image string
	// ID and State are the fields of the providerStatus that describe the instance; State is "" if there is none.
	ID, State string
	// Words are the platform's for an instance that is pending, running, stopped, shutting down and terminated; nil, EC2's.
	Words []string
}

// Controller is how the providers' machine controllers differ, as far as Cluster API and Poundlock see it: what a simulation reads and writes. All follow the
// contract v1beta1: status.ready, status.addresses, status.failureReason and status.failureMessage.
type Controller struct {
	// Account is the ServiceAccount of its manager.
	Account string
	// Size and Image are the fields of the spec for what to create; Zone is its default.
	Size, Image, Zone string
	// ID is where it writes the instance's ID, besides spec.providerID; "" nowhere.
	ID string
	// State is where it writes the instance's state; "" nowhere.
	State string
	// Ready is the type of its own condition for that; "" if its status has no conditions.
	Ready string
	// Answers is how it acknowledges that it is paused, and that it is unpaused.
	Answers Answer
	// HoldsFirst: it adds its finalizer before it checks for a pause, and removes it from an object that is deleted before it has an owner.
	HoldsFirst bool
	// KeptID is the field of the object that it keeps for an instance with that instance's ID, and KeptSpec the spec that it makes from its machine's, on a
	// platform with an InfraInstance.
	KeptID   string
	KeptSpec func(machine map[string]any) map[string]any
	// Finalizer is its own; "" follows the convention: awsmachine.infrastructure.cluster.x-k8s.io.
	Finalizer string
}

// Answer is how a provider acknowledges a pause.
type Answer int

const (
	// InSilence: it pauses and does not acknowledge that.
	InSilence Answer = iota
	// ByCondition: Paused in status.conditions, of the old type.
	ByCondition
	// ByNewCondition: Paused in status.v1beta2.conditions.
	ByNewCondition
	// ByBlockMove: the annotation that blocks `clusterctl move` exists while it acts, and is removed when it is paused.
	ByBlockMove
)

// Copied is a spec with these fields of the machine's, over the object's required fields.
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
