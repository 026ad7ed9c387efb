// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"maps"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// Keep copies from an actuator's copy what an actuator may change (Actuator › What may be changed), and nothing else.
func Keep(m, from *machinev1beta1.Machine) {
	m.Labels, m.Annotations = maps.Clone(from.Labels), maps.Clone(from.Annotations)
	m.Spec.ProviderID = from.Spec.ProviderID
	m.Status.Addresses = slices.Clone(from.Status.Addresses)
	m.Status.ProviderStatus = from.Status.ProviderStatus.DeepCopy()
	m.Status.Conditions = keepConditions(m.Status.Conditions, from.Status.Conditions)
}

// keepConditions returns the controller's conditions with those that an actuator may write taken from theirs. It keeps the order, so that nothing is written
// where nothing changed.
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

// reserved reports whether a condition is the Machine controller's, or is about authority. An actuator may write neither.
func reserved(kind machinev1beta1.ConditionType) bool {
	switch kind {
	case machinev1beta1.InstanceExistsCondition, machinev1beta1.MachineCreated, machinev1beta1.MachineDrainable,
		machinev1beta1.MachineDrained, machinev1beta1.MachineTerminable, "Paused", "Synchronized", "AuthoritySettled":
		return true
	}
	return false
}
