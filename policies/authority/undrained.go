// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// Cluster API's Machine controller finds a Cluster's control plane by the control plane Machines in Cluster API. While all of these are being deleted, or none
// exists, the controller skips each step of a Machine's deletion that needs a Node: preDrain hooks, the drain, the wait for volumes, and the deletion of the
// Node (isDeleteNodeAllowed, in internal/controllers/machine of v1.13). It still waits for preTerminate hooks.

// drainFirst is the end of messages: the command by which a person drains the Node, which Cluster API does not.
const drainFirst = "drain the Machine's Node yourself before you delete it: kubectl drain %s --ignore-daemonsets --delete-emptydir-data"

// undrained returns sentences that say what Cluster API skips in a namespace in which it finds no control plane Machine, and the remedy.
func undrained(namespace string) string {
	return fmt.Sprintf("Cluster API finds no control plane Machine in %s. Without one, Cluster API deletes a Machine without draining its Node or waiting for "+
		"preDrain hooks and volumes, and leaves the Node behind. It still waits for preTerminate hooks. If the cluster has control plane Machines, have "+
		"Poundlock mirror them first (kubectl poundlock check -l %s=master). Otherwise "+drainFirst,
		namespace, machineapi.RoleLabel, "NODE")
}

// UndrainedBy returns what Cluster API skips, and the remedy, if a request may move Machines to a Cluster API that finds no control plane Machine; "" if not.
func UndrainedBy(c policies.Change) string {
	if !c.Facts.Undrained || !movesToUndrained(c) {
		return ""
	}
	return undrained(c.TwinNamespace)
}

// CountsMasters reports whether one of these Cluster API Machines is a control plane Machine that Cluster API counts: it has the label for that, and is not
// being deleted.
func CountsMasters(machines []*policies.Object) bool {
	return slices.ContainsFunc(machines, func(m *policies.Object) bool {
		_, labelled := m.Metadata.Labels[clusterv1.MachineControlPlaneLabel]
		return labelled && !m.Deleting()
	})
}

// movesToUndrained reports whether a request may move Machines to Cluster API. They would then be deleted without a drain if Facts.Undrained is true. It is
// false for the control plane's Machines: once one of them has moved, Cluster API finds a control plane Machine.
func movesToUndrained(c policies.Change) bool {
	return (c.Kind == "Machine" || c.Kind == "MachineSet") && moves(c) && askedFor(c.New) == ClusterAPI && !ofControlPlane(c)
}

// undrainedWarning returns the warning about what changes with the move for the deletion of Machines; nil if Cluster API drains Nodes.
func undrainedWarning(c policies.Change) []string {
	if !c.Facts.Undrained || !movesToUndrained(c) {
		return nil
	}
	why := fmt.Sprintf(": Cluster API finds no control plane Machine in %s. "+
		"Have Poundlock mirror the control plane's Machines first, or "+drainFirst, c.TwinNamespace, "NODE")
	if c.Kind == "MachineSet" {
		return []string{"spec.replicas: after the move, a scale down deletes Machines without draining their Nodes or waiting for preDrain hooks" + why}
	}
	carried, _ := hooks(c.New)
	if names := preDrain(carried); len(names) > 0 {
		return []string{fmt.Sprintf("%s: after the move, a deletion of this Machine does not wait for %s, and drains no Node%s", preDrainField, nameSome(names), why)}
	}
	return []string{"after the move, a deletion of this Machine drains no Node" + why}
}

// preDrain returns the names of the preDrain hooks among a Machine's annotations, for which Cluster API waits before it drains the Node.
func preDrain(annotations map[string]string) []string {
	var out []string
	for annotation := range annotations {
		if name, is := strings.CutPrefix(annotation, clusterv1.PreDrainDeleteHookAnnotationPrefix); is {
			out = append(out, cmp.Or(strings.TrimPrefix(name, "/"), annotation))
		}
	}
	slices.Sort(out)
	return out
}

// deletesUndrained reports whether a person's request may delete Machines for which Cluster API is authoritative. It is false for control plane Machines, which
// ControlPlaneLast is about.
func deletesUndrained(c policies.Change) bool {
	_, master := c.Old.Metadata.Labels[clusterv1.MachineControlPlaneLabel]
	return c.Actor == policies.Anyone && !c.Old.Deleting() && !master && !OfControlPlane(c.Old.Metadata.Labels) &&
		(c.Side == policies.SideClusterAPI || owned(c.Old))
}

// DeleteUndrained warns that a Machine is deleted without draining its Node and without waiting for its preDrain hooks.
func DeleteUndrained(c policies.Change) policies.Verdict {
	if !c.Facts.Undrained || !deletesUndrained(c) || c.Facts.Twin == nil || stand(c).Current != ClusterAPI {
		return policies.Verdict{}
	}
	core, namespace, hooks := c.Old, c.Namespace, "metadata.annotations"
	if c.Side == policies.SideMachineAPI {
		core, namespace, hooks = c.Facts.Twin, c.TwinNamespace, preDrainField
	}
	if core.Deleting() {
		return policies.Verdict{}
	}
	when := "Another time, d"
	if c.DryRun {
		when = "D"
	}
	why := fmt.Sprintf(": Cluster API finds no control plane Machine in %s. %s"+drainFirst[1:], namespace, when, cmp.Or(nodeOf(core), "NODE"))
	switch names := preDrain(core.Metadata.Annotations); {
	case c.Kind == "MachineSet":
		return policies.Warn("nobody drains the Nodes of this set's Machines, or waits for their preDrain hooks" + why)
	case len(names) > 0:
		return policies.Warn(fmt.Sprintf("%s: this deletion does not wait for the preDrain hooks of the Machine (%s), and drains no Node%s",
			hooks, nameSome(names), why))
	case nodeOf(core) != "":
		return policies.Warn("this deletion drains no Node" + why)
	}
	return policies.Verdict{}
}

// shrinks reports whether a person scales a MachineSet down. The set then chooses the Machines that it deletes.
func shrinks(c policies.Change) bool {
	return c.Actor == policies.Anyone && replicas(c.New) < replicas(c.Old)
}

// ShrinkUndrained warns that a Cluster API MachineSet that is scaled down deletes Machines without draining their Nodes and without waiting for their preDrain
// hooks.
func ShrinkUndrained(c policies.Change) policies.Verdict {
	if !c.Facts.Undrained || !shrinks(c) || c.Facts.Twin == nil || stand(c).Current != ClusterAPI {
		return policies.Verdict{}
	}
	return policies.Warn(fmt.Sprintf(
		"spec.replicas: nobody drains the Nodes of the Machines that the set deletes (%d), or waits for their preDrain hooks: "+
			"Cluster API finds no control plane Machine in %s. "+
			"To choose which Machine is deleted, drain its Node first, then annotate it before you scale the set: kubectl -n %s annotate %s.%s NAME %s=true",
		replicas(c.Old)-replicas(c.New), c.Namespace, c.Namespace, "machines", clusterv1.GroupVersion.Group, clusterv1.DeleteMachineAnnotation))
}

// nodeOf returns the name of the Node of a Cluster API Machine; "" if it has none.
func nodeOf(machine *policies.Object) string {
	var status struct {
		NodeRef struct {
			Name string `json:"name"`
		} `json:"nodeRef"`
	}
	_ = json.Unmarshal(orNull(machine.Status), &status)
	return status.NodeRef.Name
}
