// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
)

// If a Machine is deleted in the foreground, the garbage collector deletes the provider's machine at once, and the provider's controller then terminates the
// instance. Meanwhile Cluster API's controller still waits for hooks and drains the Node. So a hook delays only Cluster API, and not the garbage collector.

// WaitsForHook is a sentence about a Machine that is being deleted and waits for a hook. It says what remains to be done.
const WaitsForHook = "The Machine is already being deleted, and waits until the controller or person that set the hook removes the annotation"

// hooksOf returns, sorted, the hook annotations of a Machine that are not Poundlock's own. Because of a hook, Cluster API waits before it drains the Machine's
// Node, or before it terminates the Machine's instance.
func hooksOf(machine *policies.Object) []string {
	var out []string
	for annotation := range machine.Metadata.Annotations {
		if isHook(annotation) && annotation != InstanceHookAnnotation {
			out = append(out, annotation)
		}
	}
	slices.Sort(out)
	return out
}

// HasHook reports whether a Machine has any hook, including Poundlock's own.
func HasHook(machine *policies.Object) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(machine.Metadata.Annotations)), isHook)
}

// PastHooks returns those reasons of a Cluster API Machine's condition Deleting which show that no hook holds up the rest of the deletion. Cluster API also
// reaches these reasons if it has skipped a preDrain hook (undrained).
func PastHooks() []string {
	return []string{clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, clusterv1.MachineDeletingWaitingForBootstrapDeletionReason,
		clusterv1.MachineDeletingDeletingNodeReason, clusterv1.MachineDeletingDeletionCompletedReason}
}

// Hooked reports whether hooks other than Poundlock's own hold up the deletion of a Machine that Cluster API runs, or is about to run. machine is the Cluster
// API Machine, and twin is its Machine API object.
func Hooked(machine, twin *policies.Object) bool {
	return twin != nil && Read(twin).Current != MachineAPI && len(hooksOf(machine)) > 0
}

// DeleteHooked refuses the deletion of a Machine in the foreground if the Machine has hooks. If it has none, DeleteHooked warns a person that the deletion does
// not wait until the Machine's Node is drained. Hooks "should prevent either taking action until they are removed" (converting › Machine lifecycle hooks),
// however a Machine is deleted.
func DeleteHooked(c policies.Change) policies.Verdict {
	twin := c.Facts.Twin
	switch {
	case !inForeground(c) || twin == nil || Read(twin).Current == MachineAPI:
		return policies.Verdict{}
	case Hooked(c.Old, twin):
		hooks, which := hooksOf(c.Old), "this hook"
		if len(hooks) > 1 {
			which = "this Machine's " + amount.Of(len(hooks), "hook")
		}
		instead := WaitsForHook
		if !c.Old.Deleting() {
			instead = fmt.Sprintf("Delete the Machine in the background, which waits: %s --cascade=background", deleteCommand(c))
		}
		return policies.Deny(field.Forbidden(field.NewPath("metadata", "annotations").Key(hooks[0]), fmt.Sprintf(
			"in the foreground the garbage collector deletes the infrastructure machine, and with it the instance, without waiting for %s. %s", which, instead)))
	case c.Actor == policies.Anyone && drained(c.Old) && !c.Facts.Undrained: // if Undrained, a deletion in the background does not drain the Node either
		return policies.Warn(fmt.Sprintf("in the foreground the garbage collector deletes the infrastructure machine, and with it the instance, before Node %s is "+
			"drained. With --cascade=background the Node is drained first", nodeOf(c.Old)))
	}
	return policies.Verdict{}
}

// drained reports whether Cluster API drains a Machine's Node before it deletes the Machine.
func drained(machine *policies.Object) bool {
	return nodeOf(machine) != "" && !machine.HasAnnotation(clusterv1.ExcludeNodeDrainingAnnotation)
}

// WithNode reports whether Cluster API runs a Machine (the Machine is not paused), and drains the Machine's Node before it deletes the Machine.
func WithNode(machine *policies.Object) bool {
	return drained(machine) && !machine.Deleting() && !machine.HasAnnotation(PausedAnnotation)
}

// DeleteSetOfHooked does for a MachineSet or a MachineDeployment what DeleteHooked does for a Machine. If a MachineSet is deleted in the foreground, the
// garbage collector also deletes its Machines in the foreground. If a MachineDeployment is deleted in the foreground, the garbage collector also deletes its
// sets in the foreground.
func DeleteSetOfHooked(c policies.Change) policies.Verdict {
	hooked := c.Facts.Hooked
	switch with := c.Facts.WithNodes; {
	case !inForeground(c):
		return policies.Verdict{}
	case len(hooked) == 0 && len(with) > 0 && c.Actor == policies.Anyone && !c.Facts.Undrained:
		return policies.Warn(fmt.Sprintf("in the foreground the garbage collector deletes the infrastructure machines, and with them the instances, before the "+
			"Node of "+
			"Machine %s%s is drained. With --cascade=background the Node is drained first", with[0], andMore(c, with)))
	case len(hooked) == 0:
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"in the foreground the garbage collector deletes the infrastructure machines, and with them the instances, without waiting for the hooks of Machine %s%s. "+
			"Delete the %s in the background, which waits: %s --cascade=background", hooked[0], andMore(c, hooked), c.Kind, deleteCommand(c))))
}

// DeleteInfraOfHooked refuses that a person deletes the provider's machine of a Machine with hooks, or the object that the provider keeps for that Machine's
// instance. Such a deletion would terminate the instance without waiting for the hooks. The refusal ends once Cluster API no longer waits for the hooks
// (PastHooks), because Cluster API then deletes the provider's machine, and the provider deletes the kept object. On vSphere the provider uses an account that
// cannot be distinguished from a person's.
func DeleteInfraOfHooked(c policies.Change) policies.Verdict {
	machine := hookedBehind(c)
	if machine == nil {
		return policies.Verdict{}
	}
	hooks := hooksOf(machine)
	which := "the hook " + hooks[0]
	if len(hooks) > 1 {
		which = fmt.Sprintf("its %s (%s)", amount.Of(len(hooks), "hook"), hooks[0])
	}
	instead := WaitsForHook
	if !machine.Deleting() {
		instead = fmt.Sprintf("Delete the Machine, which waits: kubectl -n %s delete machines.cluster.x-k8s.io %s", c.Namespace, machine.Metadata.Name)
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"the provider would terminate the instance of Machine %s without waiting for %s, and before its Node is drained. %s", machine.Metadata.Name, which, instead)))
}

// hookedBehind returns the Cluster API Machine of a provider's object, if a person deletes that object while Cluster API is authoritative, and hooks hold up
// the Machine's deletion. It returns nil otherwise.
func hookedBehind(c policies.Change) *policies.Object {
	if c.Kind != InfraMachine && c.Kind != InfraInstance || c.Actor != policies.Anyone || c.Old.Deleting() ||
		c.Facts.Twin == nil || Read(c.Facts.Twin).Current != ClusterAPI {
		return nil
	}
	i := slices.IndexFunc(c.Facts.Owners, func(o *policies.Object) bool {
		return Hooked(o, c.Facts.Twin) && !(o.Deleting() && slices.Contains(PastHooks(), ConditionOf(o, clusterv1.MachineDeletingCondition).Reason))
	})
	if i < 0 {
		return nil
	}
	return c.Facts.Owners[i]
}

// deleteCommand returns the kubectl command that makes the deletion under review.
func deleteCommand(c policies.Change) string {
	return fmt.Sprintf("kubectl -n %s delete %s.%s %s", c.Namespace, c.Resource.Resource, c.Resource.Group, c.Name)
}
