// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"

	"github.com/poundlock/poundlock/policies"
)

// DeletionPaused is why the deletion of a Cluster API object that has no Machine API object does not end, and what ends it, in sentences; nil where it ends.
// Cluster API leaves what is paused alone, also while it is being deleted, and without a Machine API object Poundlock ends no pause.
func DeletionPaused(kind Kind, o *policies.Object) []string {
	if kind.ClusterAPIFinalizer == "" || !o.HasAnnotation(PausedAnnotation) || !o.HasFinalizer(kind.ClusterAPIFinalizer) {
		return nil
	}
	why := fmt.Sprintf("metadata.annotations[%s]: Cluster API leaves a paused %s alone, so that its deletion does not end while the annotation is there",
		PausedAnnotation, kind.Name)
	unpause := fmt.Sprintf("kubectl -n %s annotate %s.%s/%s", o.Metadata.Namespace, kind.Resource, kind.ClusterAPI.Group, o.Metadata.Name)
	again := fmt.Sprintf("create the Machine API object again before you delete this one: kubectl poundlock convert %s/%s",
		strings.ToLower(kind.Name), o.Metadata.Name)
	if !kind.InfraActs() {
		if o.Deleting() {
			again = "remove their owner references to the set first"
		}
		return []string{why, fmt.Sprintf("To have Cluster API delete the set's Machines with their instances, remove the annotation, also from those Machines "+
			"that have it: %s %s-", unpause, PausedAnnotation), "To keep the Machines, " + again}
	}
	instance := "its instance"
	if id := providerID(o); id != "" {
		instance += " " + id
	}
	if o.Deleting() {
		again = "leave both paused and remove their finalizers by hand, then create the Machine API object again with this spec.providerID"
	}
	out := []string{why}
	infra := InfraReferenceOf(o)
	if infra.Name == "" {
		out = append(out, fmt.Sprintf("To have Cluster API terminate %s, remove the annotation: %s %s-", instance, unpause, PausedAnnotation))
	} else {
		at := func(kind, name string) string {
			return fmt.Sprintf("kubectl -n %s annotate %s.%s/%s %s-", o.Metadata.Namespace, strings.ToLower(kind), infra.APIGroup, name, PausedAnnotation)
		}
		out = append(out, fmt.Sprintf("To have Cluster API terminate %s, remove the annotation first from %s %s (if it is gone, create it with its spec.providerID): %s",
			instance, infra.Kind, infra.Name, at(infra.Kind, infra.Name)))
		holds := fmt.Sprintf("the %s has the finalizer %s", infra.Kind, InfraFinalizer(infra.APIGroup, infra.Kind))
		if kept := InfraInstanceKind(infra.Kind); kept != "" {
			name := infra.Name
			if providerOf(infra.Kind).NamesInstanceAfterMachine {
				name = o.Metadata.Name
			}
			out = append(out, fmt.Sprintf("Also from the %s, if there is one: %s", kept, at(kept, name)))
			holds += fmt.Sprintf(", and the %s, which the provider creates if there is none, %s", kept, InfraFinalizer(infra.APIGroup, kept))
		}
		out = append(out, fmt.Sprintf("Wait until %s: without, the instance is left behind. Then remove the annotation from the %s: %s %s-",
			holds, kind.Name, unpause, PausedAnnotation))
	}
	return append(out, "To keep the instance, "+again)
}

// DeletePaused warns of a deletion that Cluster API does not carry out. Where there is a Machine API object, other rules describe what happens.
func DeletePaused(c policies.Change) policies.Verdict {
	if !deletesPaused(c) || c.Facts.Twin != nil {
		return policies.Verdict{}
	}
	kind, _ := KindNamed(c.Kind)
	return policies.Warn(DeletionPaused(kind, c.Old)...)
}

// deletesPaused reports whether a person deletes what is paused.
func deletesPaused(c policies.Change) bool {
	kind, ok := KindNamed(c.Kind)
	return ok && c.Actor == policies.Anyone && DeletionPaused(kind, c.Old) != nil
}
