// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// deletion is what the rules of deletion ask about the pair.
func (s *state) deletion() authority.Deletion {
	mirror, _ := s.mirror()
	d := authority.Deletion{
		Authority: s.inCharge(), InTransit: s.said().Current == authority.Migrating,
		MachineAPI: presence(s.machineAPI), ClusterAPI: presence(s.core),
		Owned: s.kind.Parent != "" && controllerOf(mirror) != nil, Parent: s.parent, Children: len(s.children) > 0,
		Held: s.held(), Marked: s.marked(s.machineAPI) || s.marked(s.core), Surroundings: s.surroundings,
	}
	d.Unreleased = d.Authority == authority.ClusterAPI && (isPaused(s.core) || s.kind.InfraActs() && isPaused(s.infra))
	if s.machineAPI != nil {
		_, d.Detached = s.machineAPI.GetAnnotations()[authority.DetachedAnnotation]
	}
	if d.Authority == authority.MachineAPI && s.core != nil && !s.isMirror(s.core) {
		d.ClusterAPI = authority.Absent
	}
	return d
}

// held reports whether the authoritative controller has yet to clean up. Cluster API's cleans up also after a Machine whose finalizer somebody has removed,
// for as long as the Machine is there. Without it the provider's controller finds no owner, and leaves the instance behind.
func (s *state) held() bool {
	side := s.inCharge()
	return s.on(side) != nil && slices.Contains(s.on(side).GetFinalizers(), s.controllersFinalizer(side)) ||
		side == authority.ClusterAPI && s.core != nil && s.instanceLeft()
}

// instanceLeft reports whether the infrastructure machine names an instance: its controller removes the object after it has terminated that one.
func (s *state) instanceLeft() bool {
	return s.kind.Infra == authority.InfraMachine && s.infra != nil && nested(s.infra, "spec", "providerID") != ""
}

func (s *state) controllersFinalizer(side authority.API) string {
	if side == authority.MachineAPI {
		return s.kind.MachineAPIFinalizer
	}
	return s.kind.ClusterAPIFinalizer
}

func (s *state) marked(o *unstructured.Unstructured) bool {
	return o != nil && (slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) || s.isMirror(o))
}

// delete is the next write of a step of a deletion; nil: there is nothing to do but to wait.
func (s *state) delete(step authority.DeletionStep) *write {
	mirror, side := s.mirror()
	switch step {
	case authority.DeleteMirror:
		return deleted(mirror, "MirrorDeleted", "deleted "+describe(mirror)+", because "+s.describeSource()+" is being deleted")
	case authority.DeleteAuthority:
		authoritative := s.on(side.Other())
		return deleted(authoritative, "DeletionPropagated", "deleted "+describe(authoritative)+", because "+describe(mirror)+", which a "+controllerOf(mirror).Kind+" owns, was deleted")
	case authority.DetachChildren:
		return s.detach(s.children[0], side)
	case authority.ReleaseMirror:
		return s.releaseMirror(side)
	case authority.ReleaseAuthority:
		return first(s.leftoverInfra, s.staleTemplate, func() *write { return release(s.on(s.inCharge()), authority.SyncFinalizer) })
	case authority.Forget:
		return s.forget()
	}
	return nil
}

func deleted(o *unstructured.Unstructured, reason, note string) *write {
	return &write{verb: remove, object: o, reason: reason, note: note}
}

// detach takes a child out of the collector's reach: a Machine API object whose machine Cluster API runs is marked, so that
// its end is not propagated; any other no longer names its owner.
func (s *state) detach(child *unstructured.Unstructured, side authority.API) *write {
	w := &write{verb: patch, object: child, reason: "Detached", note: "detached " + describe(child) + " from its " + s.kind.Name + ", which is being deleted while its twin stays"}
	if side == authority.MachineAPI && !runs(child) {
		w.patch = metadataPatch(map[string]any{"annotations": map[string]any{authority.DetachedAnnotation: "true"}})
		return w
	}
	w.patch = metadataPatch(map[string]any{"ownerReferences": without(child, s.on(side))})
	return w
}

// without are the owner references of o but those to owner.
func without(o, owner *unstructured.Unstructured) []metav1.OwnerReference {
	refs := []metav1.OwnerReference{}
	for _, r := range o.GetOwnerReferences() {
		if r.UID != owner.GetUID() {
			refs = append(refs, r)
		}
	}
	return refs
}

// releaseMirror lets a mirror go that is being deleted. Its controllers are paused, so their finalizers would hold it
// for ever.
func (s *state) releaseMirror(side authority.API) *write {
	if side == authority.MachineAPI {
		return first(s.leftoverInfra, func() *write {
			return s.unlessOwner(release(s.machineAPI, authority.SyncFinalizer, s.kind.MachineAPIFinalizer))
		})
	}
	return first(s.leftoverInfra, s.keepInfra, func() *write {
		return s.unlessOwner(release(s.core, authority.SyncFinalizer, s.kind.ClusterAPIFinalizer))
	})
}

// leftoverInfra removes the mirrored infrastructure machine of a Machine API object that is being deleted, once no
// instance is left. While that object stays, so does it: a provider's controller must never find it deleted.
func (s *state) leftoverInfra() *write {
	if s.kind.Infra == authority.InfraMachine && presence(s.machineAPI) == authority.Deleting {
		// What the provider keeps for the instance goes first: the machine that owns it may have no finalizer, and when it has gone nothing leads there.
		if w := s.endInfraInstance(describe(s.machineAPI)); w != nil {
			return w
		}
		if s.idle(s.infra) && presence(s.infra) == authority.Present {
			return deleted(s.infra, "MirrorDeleted", "deleted "+describe(s.infra)+", because "+describe(s.machineAPI)+" is being deleted")
		}
	}
	return s.releaseInfra(s.infra)
}

// idle reports whether a mirrored infrastructure object has no instance that is Cluster API's: Machine API is authoritative,
// or its Machine was never created, or is being deleted before any controller acted on it.
func (s *state) idle(infra *unstructured.Unstructured) bool {
	if !s.isMirror(infra) {
		return false
	}
	return s.source() == authority.MachineAPI || s.core == nil && len(infra.GetOwnerReferences()) == 0 || s.unheld()
}

// unheld reports whether the Cluster API object is being deleted, still paused, without its controller's finalizer and without an instance: the handoff
// releases no such object, so its controllers will not see to what belongs to it.
func (s *state) unheld() bool {
	return presence(s.core) == authority.Deleting && isPaused(s.core) && !slices.Contains(s.core.GetFinalizers(), s.kind.ClusterAPIFinalizer) && !s.instanceLeft()
}

func isPaused(o *unstructured.Unstructured) bool {
	if o == nil {
		return false
	}
	_, paused := o.GetAnnotations()[authority.PausedAnnotation]
	return paused
}

// releaseInfra lets go an idle infrastructure machine that is being deleted while it is paused. The mirror makes it
// again if it is still wanted. While authority moves nobody knows yet whose the instance will be: what is being deleted has the move taken back first, or is
// Cluster API's to end.
func (s *state) releaseInfra(infra *unstructured.Unstructured) *write {
	if w := s.releaseInfraInstance(infra); w != nil {
		return w // before the machine that owns it: afterwards nothing leads to it
	}
	if presence(infra) != authority.Deleting || !s.idle(infra) || s.said().Current == authority.Migrating {
		return nil
	}
	return releasePaused(infra)
}

// releasePaused takes the provider's finalizer off an object that is being deleted while it is paused: its controller never would.
func releasePaused(infra *unstructured.Unstructured) *write {
	if !isPaused(infra) {
		return nil
	}
	return release(infra, authority.InfraFinalizer(infra.GroupVersionKind().Group, infra.GetKind()))
}

// releaseInfraInstance has what a provider keeps for an instance go with its machine, without the instance: Machine API runs that, or has terminated it.
func (s *state) releaseInfraInstance(infra *unstructured.Unstructured) *write {
	if presence(s.infraInstance) == authority.Deleting || presence(infra) == authority.Deleting && s.idle(infra) && isPaused(infra) {
		return s.endInfraInstance("its owner")
	}
	return nil
}

// endInfraInstance deletes what a provider keeps for an instance, and lets it go. The instance stays: its controller is paused, and Machine API authoritative.
func (s *state) endInfraInstance(cause string) *write {
	if s.infraInstance == nil || s.source() != authority.MachineAPI || s.said().Current == authority.Migrating || !isPaused(s.infraInstance) {
		return nil
	}
	if presence(s.infraInstance) == authority.Deleting {
		return releasePaused(s.infraInstance)
	}
	return deleted(s.infraInstance, "MirrorDeleted", "deleted "+describe(s.infraInstance)+", because "+cause+" is being deleted")
}

// keepInfra takes the infrastructure machine out of the collector's reach before its Machine goes to be recreated.
func (s *state) keepInfra() *write {
	if s.infra == nil || s.core == nil || len(without(s.infra, s.core)) == len(s.infra.GetOwnerReferences()) || presence(s.machineAPI) != authority.Present {
		return nil
	}
	return &write{verb: patch, object: s.infra, patch: metadataPatch(map[string]any{"ownerReferences": without(s.infra, s.core)}),
		reason: "Detached", note: "detached " + describe(s.infra) + " from its Machine, which goes to be recreated"}
}

// release removes finalizers; nil if o carries none of them.
func release(o *unstructured.Unstructured, finalizers ...string) *write {
	if o == nil {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return slices.Contains(finalizers, f) })
	if len(kept) == len(o.GetFinalizers()) {
		return nil
	}
	return &write{verb: patch, object: o, patch: metadataPatch(map[string]any{"finalizers": kept}),
		reason: "Released", note: "removed the finalizers that kept " + describe(o)}
}

// forget takes finalizer and marks off what acts on its own from now on.
func (s *state) forget() *write {
	if s.machineAPI != nil {
		return first(func() *write { return s.unmark(s.core) }, func() *write { return s.unmark(s.machineAPI) })
	}
	if s.kind.Infra == authority.InfraMachineTemplate {
		return s.unmark(s.core) // by its mark the template goes when nothing refers to it any more
	}
	return first(func() *write { return s.unmark(s.infra) }, func() *write {
		if presence(s.core) == authority.Deleting && s.instanceLeft() && !isPaused(s.core) && !isPaused(s.infra) {
			return nil // Cluster API is yet to terminate the instance, and may have no finalizer of its own there any more
		}
		return s.unmark(s.core)
	})
}

func (s *state) unmark(o *unstructured.Unstructured) *write {
	if !s.marked(o) {
		return nil
	}
	metadata := map[string]any{}
	if s.isMirror(o) {
		metadata["annotations"] = map[string]any{authority.MirrorAnnotation: nil}
	}
	if i := slices.Index(o.GetFinalizers(), authority.SyncFinalizer); i >= 0 {
		metadata["finalizers"] = slices.Delete(slices.Clone(o.GetFinalizers()), i, i+1)
	}
	return &write{verb: patch, object: o, patch: metadataPatch(metadata), reason: "MirrorEnded", note: describe(o) + " has no twin any more and acts on its own"}
}
