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

// CreateSurplus refuses a Machine with which a Cluster API MachineSet would have more Machines than spec.replicas, if Machine API runs some of them. Cluster
// API's controller does not always see these Machines: their mirrors were deleted with the CRD, are not restored from a backup yet, or lost their
// finalizers. And once the CRD exists again, the controller's cache is empty for some seconds, even if Poundlock has recreated the mirrors. The controller
// would create a Machine for each of them, and then delete as many. The deletion of a mirror is propagated to its Machine, whose instance would be
// terminated (converting › Deletion of Machines).
//
// The set may create all Machines that are missing beside those. So it is not held up for ever by a Machine that Poundlock cannot mirror.
func CreateSurplus(c policies.Change) policies.Verdict {
	n := c.Facts.OwnerCount
	if !CreatesForClusterAPISet(c) || n == nil || n.Counted+len(n.Unmirrored) < n.Replicas {
		return policies.Verdict{}
	}
	set := OwningSet(c.New, c.Side)
	return policies.Deny(field.Forbidden(ownersPath, fmt.Sprintf("MachineSet %s has all Machines that spec.replicas (%d) asks for, or more, if those that "+
		"Machine API runs are counted. With one more, it would delete one with its instance. %s", set, n.Replicas, surplusRemedy(c, set, n.Unmirrored))))
}

func surplusRemedy(c policies.Change, set string, unmirrored []string) string {
	parent, _ := KindNamed("MachineSet")
	machine, _ := KindNamed("Machine")
	if len(unmirrored) == 0 {
		return fmt.Sprintf("If Cluster API's controller does not see all of them yet, it tries again by itself. To get another Machine: kubectl -n %s scale %s %s "+
			"--replicas=NUMBER", c.Namespace, parent.DefinitionIn(ClusterAPI), set)
	}
	names := strings.Join(unmirrored[:min(len(unmirrored), UncountedNamed)], ", ")
	if more := len(unmirrored) - UncountedNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("These have no Cluster API object in the set yet: %s. Poundlock creates these objects, so Cluster API tries again by itself. If a Machine "+
		"stays without one, the condition %s of its Machine API object has the reason. To delete such a Machine with its instance: kubectl -n %s delete %s NAME",
		names, ConditionSynchronized, c.TwinNamespace, machine.DefinitionIn(MachineAPI))
}
