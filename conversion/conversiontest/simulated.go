// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

// Actuator is the difference between the platforms' actuators of the Machine API: what a simulation of one reads of a providerSpec, and where it writes the
// state. The zero value: machinetest simulates the platform by itself, as it does AWS.
type Actuator struct {
	// Needs is what a providerSpec must have; Type, Zone and Image are its fields for what to make and where, on platforms that have them.
	Needs, Type, Zone, Image string
	// ID and State are the fields of the providerStatus that describe the instance; State is "" where none does.
	ID, State string
	// Words are the platform's for an instance that is pending, running, stopped, shutting down and terminated; nil, EC2's.
	Words []string
}

// Controller is the difference between the providers' machine controllers, as far as Cluster API and Poundlock can see it: what a simulation of one reads and
// writes. All of them keep the contract v1beta1: status.ready, status.addresses, status.failureReason and status.failureMessage.
type Controller struct {
	// Account is the ServiceAccount that its manager runs as.
	Account string
	// Size and Image are the fields of the spec for what to make; Zone is what it falls back to.
	Size, Image, Zone string
	// ID is where it writes the instance's ID, beside spec.providerID; "" nowhere.
	ID string
	// State is where it writes the instance's; "" nowhere.
	State string
	// Ready is the type of its own condition for that; "" where its status has no conditions.
	Ready string
	// Answers is how it reports that it is paused, and that it no longer is.
	Answers Answer
	// HoldsFirst: it adds its finalizer before it looks for a pause, and takes it off an object that is deleted before it has an owner.
	HoldsFirst bool
	// KeptID is where what it keeps for an instance names that one, and KeptSpec the spec that it makes from its machine's; of a platform that has an
	// InfraInstance.
	KeptID   string
	KeptSpec func(machine map[string]any) map[string]any
	// Finalizer is its own; "" follows the convention: awsmachine.infrastructure.cluster.x-k8s.io.
	Finalizer string
}

// Answer is a provider's way to acknowledge a pause.
type Answer int

const (
	// InSilence: it pauses and does not acknowledge that.
	InSilence Answer = iota
	// ByCondition: Paused in status.conditions, of the old kind.
	ByCondition
	// ByNewCondition: Paused in status.v1beta2.conditions.
	ByNewCondition
	// ByBlockMove: the annotation that keeps `clusterctl move` waiting is there while it acts, and goes when it is paused.
	ByBlockMove
)

// Copied is a spec of these fields of the machine's, over what the object has to have.
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
