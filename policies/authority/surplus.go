// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// CreatesForClusterAPISet reports whether a request creates a Cluster API Machine for a MachineSet.
func CreatesForClusterAPISet(c policies.Change) bool {
	return c.Side == policies.SideClusterAPI && CreatesForSet(c)
}

// Scales reports whether Cluster API's MachineSet may create Machines: whether Cluster API is authoritative for the pair, or authority moves. set is the
// Machine API object of the pair. If Machine API is authoritative, Cluster API's set is paused, or it is another set that only has the same name.
func Scales(set *policies.Object) bool {
	return set != nil && (Authoritative(Read(set)) == ClusterAPI || Read(set).Current == Migrating)
}

// CreateSurplus refuses a Machine with which a Cluster API MachineSet would have more Machines than spec.replicas, counting those that Machine API runs and
// that have no mirror at present. Cluster API's controller does not see them: their mirrors were deleted with the CRD, are not restored from a backup yet, or
// lost their finalizers. It would create a Machine for each of them. Once Poundlock had recreated the mirrors, it would delete as many Machines, and the
// deletion of a mirror is propagated to its Machine, whose instance would be terminated (converting › Deletion of Machines).
//
// The set may create all Machines that are missing beside those. So it is not held up for ever by a Machine that Poundlock cannot mirror.
func CreateSurplus(c policies.Change) policies.Verdict {
	n := c.Facts.OwnerCount
	if !CreatesForClusterAPISet(c) || n == nil || n.Counted+len(n.Unmirrored) < n.Replicas {
		return policies.Verdict{}
	}
	set, kind := OwningSet(c.New, c.Side), machineKind()
	named := n.Unmirrored[:min(len(n.Unmirrored), UncountedNamed)]
	names := strings.Join(named, ", ")
	if more := len(n.Unmirrored) - len(named); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return policies.Deny(field.Forbidden(ownersPath, fmt.Sprintf("MachineSet %s would have too many Machines (spec.replicas is %d), and would delete one with "+
		"its instance. Besides the %d Machines that Cluster API counts, Machine API runs Machines of the set that have no Cluster API object in the set yet: "+
		"%s. Poundlock creates these objects, so try again in a moment. If a Machine stays without one, the condition %s of its Machine API object has the reason. "+
		"To delete such a Machine with its instance: kubectl -n %s delete %s NAME",
		set, n.Replicas, n.Counted, names, ConditionSynchronized, c.TwinNamespace, kind.DefinitionIn(MachineAPI))))
}

func machineKind() Kind {
	kind, _ := KindNamed("Machine")
	return kind
}
