// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// endsWithMachine reports whether Cluster API's controller deletes a provider's machine. Then the controller is done with the hooks of the Machine, or skips
// them.
func endsWithMachine(c policies.Change) bool {
	return c.Actor == policies.ClusterAPIController && !c.Old.Deleting()
}

// HeldByHooks reports whether preDrain hooks hold a Cluster API Machine of the control plane that is being deleted. It is false for a Machine without a Node:
// Cluster API skips the hooks of such a Machine, and may do so, because no member of etcd runs there.
func HeldByHooks(m *policies.Object) bool {
	return m != nil && m.Deleting() && IsMaster(m) && nodeOf(m) != "" && len(preDrain(m.Metadata.Annotations)) > 0
}

// HooksSkipped refuses that Cluster API's controller deletes the provider's machine of a control plane Machine whose preDrain hooks it skips. Cluster API
// skips these hooks while every control plane Machine is being deleted. ControlPlaneLast refuses the deletion of the last one. But deletions at the same
// moment do not see each other, and while Poundlock is away nobody reviews a deletion. Once all these Machines are being deleted, the deletion of the
// provider's machine is the last request that can be refused. Meanwhile the ControlPlaneMachineSet replaces the Machines.
func HooksSkipped(c policies.Change) policies.Verdict {
	if !endsWithMachine(c) || c.Facts.Twin == nil || c.Facts.Leaving != "" {
		return policies.Verdict{}
	}
	name, masters := c.Facts.Twin.Metadata.Name, c.Facts.Masters
	i := slices.IndexFunc(masters, func(m *policies.Object) bool { return m.Metadata.Name == name && HeldByHooks(m) })
	if i < 0 || slices.ContainsFunc(masters, func(m *policies.Object) bool {
		return m.Metadata.Annotations[AllowDeletionAnnotation] == AllowsControlPlane
	}) {
		return policies.Verdict{}
	}
	kind, _ := KindNamed("Machine")
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"preDrain hooks still hold Machine %s (%s), and Cluster API skips them while each control plane Machine is being deleted: etcd would lose its quorum. "+
			"The instance stays until the hooks are removed, by their owners, once another Machine has joined. "+
			"To end the control plane all the same: kubectl -n %s annotate --overwrite %s.%s %s %s=%s",
		name, nameSome(preDrain(masters[i].Metadata.Annotations)), c.Namespace, kind.Resource, kind.ClusterAPI.Group, name,
		AllowDeletionAnnotation, AllowsControlPlane)))
}
