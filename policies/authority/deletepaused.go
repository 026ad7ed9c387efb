// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"

	"github.com/poundlock/poundlock/policies"
)

// DeletionPaused returns sentences that say why the deletion of a Cluster API object without a Machine API object does not complete, and what a person can do.
// It returns nil if the deletion completes. The deletion of a paused object does not: Cluster API leaves a paused object alone even while it is being deleted,
// and without a Machine API object Poundlock removes no pause.
func DeletionPaused(kind Kind, o *policies.Object) []string {
	if kind.ClusterAPIFinalizer == "" || !o.HasAnnotation(PausedAnnotation) || !o.HasFinalizer(kind.ClusterAPIFinalizer) {
		return nil
	}
	why := fmt.Sprintf("metadata.annotations[%s]: Cluster API does not act on a paused %s, so the deletion does not end while the annotation is set",
		PausedAnnotation, kind.Name)
	unpause := fmt.Sprintf("kubectl -n %s annotate %s.%s/%s", o.Metadata.Namespace, kind.Resource, kind.ClusterAPI.Group, o.Metadata.Name)
	again := fmt.Sprintf("create the Machine API object again before you delete this object: kubectl poundlock convert %s/%s",
		strings.ToLower(kind.Name), o.Metadata.Name)
	if !kind.InfraActs() {
		if o.Deleting() {
			again = "remove their owner references to the set first"
		}
		return []string{why, fmt.Sprintf("To have Cluster API delete the set's Machines with their instances, remove the annotation from the set, and from each "+
			"Machine that has it: %s %s-", unpause, PausedAnnotation), "To keep the Machines, " + again}
	}
	instance := "its instance"
	if id := providerID(o); id != "" {
		instance += " " + id
	}
	if o.Deleting() {
		again = "leave the Machine and its infrastructure machine paused and remove their finalizers by hand. Then create the Machine API object again with this " +
			"spec.providerID"
	}
	out, infra := []string{why}, InfraReferenceOf(o)
	if infra.Name == "" {
		out = append(out, fmt.Sprintf("To have Cluster API terminate %s, remove the annotation: %s %s-", instance, unpause, PausedAnnotation))
	} else {
		out = append(out, endsInstance(o, infra, instance, fmt.Sprintf("%s %s-", unpause, PausedAnnotation))...)
	}
	return append(out, "To keep the instance, "+again)
}

// endsInstance returns, as sentences with commands, what a person does, and in which order, so that Cluster API and the provider terminate the instance of a
// paused Machine that is being deleted. The provider's machine has to have the provider's finalizer first. Without it, the provider's machine is gone before
// the provider's controller looks at it, and the instance is left behind. The provider itself adds its finalizer neither to an object that is being deleted nor
// to one that no Machine owns.
func endsInstance(machine *policies.Object, infra InfraReference, instance, unpause string) []string {
	type object struct{ kind, name string }
	at := func(o object, verb, more string) string {
		return fmt.Sprintf("kubectl -n %s %s %s.%s/%s %s", machine.Metadata.Namespace, verb, strings.ToLower(o.kind), infra.APIGroup, o.name, more)
	}
	hold := func(o object) string {
		return at(o, "patch", fmt.Sprintf(`--type merge -p '{"metadata":{"finalizers":["%s"]}}'`, InfraFinalizer(infra.APIGroup, o.kind)))
	}
	letGo := func(o object) string {
		return at(o, "wait", "--for=jsonpath='{.metadata.deletionTimestamp}' --timeout=15m") + " && " + at(o, "annotate", PausedAnnotation+"-")
	}
	first := object{infra.Kind, infra.Name}
	out := []string{fmt.Sprintf("To have Cluster API terminate %s, run the following in this order. First add the provider's finalizer to %s %s, if it is "+
		"missing: without it the instance is left behind (if the %[2]s is gone, first create it with spec.providerID and the annotation): %[4]s",
		instance, infra.Kind, infra.Name, hold(first))}
	ends := []string{fmt.Sprintf("Once Cluster API has deleted the %s, unpause that object too: %s", infra.Kind, letGo(first))}
	if kept := InfraInstanceKind(infra.Kind); kept != "" {
		second := object{kept, infra.Name}
		if providerOf(infra.Kind).NamesInstanceAfterMachine {
			second.name = machine.Metadata.Name
		}
		out = append(out, fmt.Sprintf("Also add the provider's finalizer to %s %s: %s. If that object does not exist, the provider cannot find the "+
			"instance: terminate the instance in the cloud yourself", kept, second.name, hold(second)))
		ends = append(ends, fmt.Sprintf("Then unpause the %s: %s", kept, letGo(second)))
	}
	return append(append(out, "Then unpause the Machine: "+unpause), ends...)
}

// DeletePaused warns of a deletion that Cluster API does not carry out because the object or its Cluster is paused. If a paused object has a Machine API
// object, there is no warning, because other rules then describe what happens.
func DeletePaused(c policies.Change) policies.Verdict {
	if deletesPaused(c) && c.Facts.Twin == nil {
		kind, _ := KindNamed(c.Kind)
		return policies.Warn(DeletionPaused(kind, c.Old)...)
	}
	if c.Facts.PausedCluster == "" || !mayBeHeld(c) || !deletesHeld(c) {
		return policies.Verdict{}
	}
	namespace := c.Namespace
	if c.Side == policies.SideMachineAPI {
		namespace = c.TwinNamespace
	}
	return policies.Warn(fmt.Sprintf("spec.paused of Cluster %s is true, so Cluster API does not act on its objects: this deletion does not end until somebody "+
		"unpauses the Cluster: %s", c.Facts.PausedCluster, unpauseCommand(namespace, c.Facts.PausedCluster)))
}

// deletesHeld reports whether a deletion is one that Cluster API's controllers have to complete: that of an object which they hold by their finalizer, and for
// which Machine API is not authoritative.
func deletesHeld(c policies.Change) bool {
	kind, _ := KindNamed(c.Kind)
	core := c.Old
	if c.Side == policies.SideMachineAPI {
		core = c.Facts.Twin
	}
	if core == nil || core.HasAnnotation(PausedAnnotation) || kind.ClusterAPIFinalizer == "" || !core.HasFinalizer(kind.ClusterAPIFinalizer) {
		return false
	}
	return c.Facts.Twin == nil || stand(c).authoritative() == ClusterAPI
}

// mayBeHeld reports whether deletesHeld depends on facts: a person deletes an object of Cluster API, or a Machine whose deletion deletes that of Cluster API,
// too.
func mayBeHeld(c policies.Change) bool {
	return c.Actor == policies.Anyone && (c.Side == policies.SideClusterAPI || owned(c.Old))
}

// deletesPaused reports whether a person makes a deletion for which DeletionPaused has sentences.
func deletesPaused(c policies.Change) bool {
	kind, ok := KindNamed(c.Kind)
	return ok && c.Actor == policies.Anyone && DeletionPaused(kind, c.Old) != nil
}
