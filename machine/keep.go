// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"maps"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// Keep copies from the actuator's copy of a Machine into m the fields that an actuator may change (Actuator › What may be changed), and nothing else.
func Keep(m, from *machinev1beta1.Machine) {
	m.Labels, m.Annotations = maps.Clone(from.Labels), maps.Clone(from.Annotations)
	m.Spec.ProviderID = from.Spec.ProviderID
	m.Status.Addresses = slices.Clone(from.Status.Addresses)
	m.Status.ProviderStatus = from.Status.ProviderStatus.DeepCopy()
	m.Status.Conditions = keepConditions(m.Status.Conditions, from.Status.Conditions)
}

// keepConditions merges two lists of conditions: the controller's own types from ours, and the types that an actuator may write from theirs. It keeps the order
// of ours. So an actuator that changes nothing causes no write.
func keepConditions(ours, theirs []machinev1beta1.Condition) []machinev1beta1.Condition {
	var out []machinev1beta1.Condition
	for _, c := range ours {
		if reserved(c.Type) {
			out = append(out, c)
		} else if i := slices.IndexFunc(theirs, ofType(c.Type)); i >= 0 {
			out = append(out, theirs[i])
		}
	}
	for _, c := range theirs {
		if !reserved(c.Type) && !slices.ContainsFunc(out, ofType(c.Type)) {
			out = append(out, c)
		}
	}
	return out
}

func ofType(kind machinev1beta1.ConditionType) func(machinev1beta1.Condition) bool {
	return func(c machinev1beta1.Condition) bool { return c.Type == kind }
}

// reserved reports whether a type of condition belongs to the Machine controller, or is about authority. An actuator may not write either.
func reserved(kind machinev1beta1.ConditionType) bool {
	switch kind {
	case machinev1beta1.InstanceExistsCondition, machinev1beta1.MachineCreated, machinev1beta1.MachineDrainable,
		machinev1beta1.MachineDrained, machinev1beta1.MachineTerminable, "Paused", "Synchronized", "AuthoritySettled":
		return true
	}
	return false
}
