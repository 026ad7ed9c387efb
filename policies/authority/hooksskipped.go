// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// endsWithMachine reports whether the request is Cluster API's controller deleting a provider's machine. The controller does that as part of a Machine's
// deletion, after it has waited for the Machine's hooks or skipped them.
func endsWithMachine(c policies.Change) bool {
	return c.Actor == policies.ClusterAPIController && !c.Old.Deleting()
}

// HeldByHooks reports whether preDrain hooks hold a control plane Machine of Cluster API that is being deleted. It is false for a Machine without a Node.
// Cluster API skips the hooks of such a Machine, and may do so, because no etcd member runs there.
func HeldByHooks(m *policies.Object) bool {
	return m != nil && m.Deleting() && IsMaster(m) && nodeOf(m) != "" && len(preDrain(m.Metadata.Annotations)) > 0
}

// HooksSkipped refuses that Cluster API's controller deletes the provider's machine of a control plane Machine, if the controller has skipped the Machine's
// preDrain hooks. Cluster API skips these hooks while every control plane Machine is being deleted. ControlPlaneLast refuses the deletion of the last one. But
// deletions at the same moment do not see each other, and while Poundlock is away nobody reviews a deletion. Once all these Machines are being deleted, the
// deletion of the provider's machine is the last request that can be refused. Meanwhile the ControlPlaneMachineSet replaces the Machines.
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
			"The instance stays until the owners of the hooks remove them, which they do once another Machine has joined. To delete the control plane anyway: "+
			"kubectl -n %s annotate --overwrite %s.%s %s %s=%s",
		name, nameSome(preDrain(masters[i].Metadata.Annotations)), c.Namespace, kind.Resource, kind.ClusterAPI.Group, name,
		AllowDeletionAnnotation, AllowsControlPlane)))
}
