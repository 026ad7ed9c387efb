// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import "github.com/poundlock/poundlock/policies"

// OwningSetOf returns the name of the MachineSet that owns the Machine of the API that authority comes from; "" if no set owns it.
func (o Objects) OwningSetOf(source API) string {
	switch {
	case source == MachineAPI && o.MachineAPI != nil:
		return OwningSet(o.MachineAPI, policies.SideMachineAPI)
	case source == ClusterAPI && o.ClusterAPI != nil:
		return OwningSet(o.ClusterAPI, policies.SideClusterAPI)
	}
	return ""
}

// unowned reports whether the set of the other API does not own the Machine's mirror at present, although that set belongs to the one that owns the Machine.
// That is so while the set's mirror is being deleted or recreated. If the Machine moved then, any other set that selects it would adopt it there.
func (o Objects) unowned(source API) bool {
	own, twin := o.Sets[source], o.Sets[source.Other()]
	machine, mirror := o.MachineAPI, o.ClusterAPI
	if source == ClusterAPI {
		machine, mirror = mirror, machine
	}
	switch {
	case own == nil || own.Deleting() || machine == nil || mirror == nil || !controlledBy(machine, own):
		return false
	case source == ClusterAPI && twin == nil:
		return false // the set exists in Cluster API alone, or its Machine API object was deleted
	case twin == nil || source == MachineAPI && twin.Deleting():
		return Read(own).Condition(ConditionSynchronized).Status == "True" // Poundlock recreates the mirror, unless the set does not convert
	case source == MachineAPI && twin.Metadata.Annotations[MirrorAnnotation] != "MachineSet/"+own.Metadata.Name && Source(Read(own)) != ClusterAPI:
		return false // not the mirror
	}
	return twin.Deleting() || !controlledBy(mirror, twin)
}
