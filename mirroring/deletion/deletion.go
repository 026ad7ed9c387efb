// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Pair is a pair with at least one object that is being deleted.
type Pair struct{ *pairs.State }

// Of returns s as a Pair, which has the methods for a deletion.
func Of(s *pairs.State) Pair { return Pair{s} }

// Asked returns the state of the pair in the form in which the rules of a deletion (authority.DeletionState) need it.
func Asked(s *pairs.State) authority.DeletionState { return Of(s).asked() }

func (s Pair) asked() authority.DeletionState {
	mirror, side := s.Mirror()
	d := authority.DeletionState{
		Authority: s.Authoritative(), InTransit: s.Shape().Current == authority.Migrating,
		MachineAPI: pairs.PresenceOf(s.MachineAPI), ClusterAPI: pairs.PresenceOf(s.Core),
		Owned: s.Kind.Parent != "" && pairs.ControllerOf(mirror) != nil, Parent: s.Parent, Children: len(s.Children) > 0,
		Held: s.held(), Marked: s.Marked(s.MachineAPI) || s.Marked(s.Core), Surroundings: s.Surroundings,
	}
	d.Unreleased = d.Authority == authority.ClusterAPI &&
		(pairs.IsPaused(s.Core) || s.Kind.InfraActs() && (pairs.IsPaused(s.Infra) || pairs.IsPaused(s.InfraInstance)))
	if s.MachineAPI != nil && side == authority.MachineAPI {
		_, d.Detached = s.MachineAPI.GetAnnotations()[authority.DetachedAnnotation]
	}
	if mirror != nil && mirror.GetDeletionTimestamp() != nil {
		d.Gate = s.Gate.When(mirror.GetDeletionTimestamp().Time)
	}
	if d.Authority == authority.MachineAPI && s.Core != nil && !s.IsMirror(s.Core) {
		d.ClusterAPI = authority.Absent
	}
	return d
}

// held reports whether the deletion must wait for one of two things: the controller of the authoritative API has yet to clean up, or the provider's object for
// the instance has yet to be paused (instanceActs). Cluster API's controller also cleans up after a Machine whose finalizer somebody has removed, as long as
// the Machine exists. Once the Machine is gone, the provider's controller finds no owner, and leaves the instance behind.
func (s Pair) held() bool {
	side := s.Authoritative()
	return s.On(side) != nil && slices.Contains(s.On(side).GetFinalizers(), s.controllersFinalizer(side)) ||
		side == authority.ClusterAPI && s.Core != nil && s.InstanceLeft() || side == authority.MachineAPI && s.instanceActs()
}

// instanceActs reports whether the object that a provider keeps for an instance is not paused, although Machine API is authoritative. The handoff pauses that
// object as long as the mirror refers to it.
func (s Pair) instanceActs() bool {
	return s.InfraInstance != nil && !pairs.IsPaused(s.InfraInstance) && s.instanceIsOurs() && s.IsMirror(s.Core)
}

func (s Pair) controllersFinalizer(side authority.API) string {
	if side == authority.MachineAPI {
		return s.Kind.MachineAPIFinalizer
	}
	return s.Kind.ClusterAPIFinalizer
}

// Gated reports whether the next step of the deletion depends on the feature gate.
func (s Pair) Gated() bool {
	on, off := s.asked(), s.asked()
	on.Gate, off.Gate = authority.GateOn, authority.GateOff
	return on.Next() != off.Next()
}

// Next returns the next write for a step of a deletion; nil if there is nothing to do but to wait.
func (s Pair) Next(step authority.DeletionStep) *pairs.Write {
	mirror, side := s.Mirror()
	switch step {
	case authority.DeleteMirror:
		return pairs.First(func() *pairs.Write { return Hold(mirror) }, func() *pairs.Write {
			return deleted(mirror, "MirrorDeleted", "deleted "+pairs.Describe(mirror)+", because "+s.DescribeSource()+" is being deleted")
		})
	case authority.DeleteAuthority:
		authoritative := s.On(side.Other())
		return deleted(authoritative, "DeletionPropagated",
			"deleted "+pairs.Describe(authoritative)+", because "+pairs.Describe(mirror)+", which a "+pairs.ControllerOf(mirror).Kind+" owns, was deleted")
	case authority.DetachChildren:
		return s.detachNext(side)
	case authority.ReleaseMirror:
		return s.explained(s.releaseMirror(side), mirror)
	case authority.ReleaseAuthority:
		return pairs.First(s.leftoverInfra, s.StaleTemplate, func() *pairs.Write { return release(s.On(s.Authoritative()), authority.SyncFinalizer) })
	case authority.Forget:
		return s.Forget()
	}
	return nil
}

// Restores reports whether Poundlock recreates a mirror that is being deleted because the feature gate was off when the mirror was deleted. With the gate on,
// the same deletion by the mirror's owner would have deleted the authoritative object, too.
func (s Pair) Restores() bool {
	now := s.asked()
	then := now
	then.Gate = authority.GateOn
	return then.Next() == authority.DeleteAuthority && now.Next() == authority.ReleaseMirror
}

// explained returns the write w of a mirror's release. To its event it adds why deleting the mirror did not delete the Machine, in the two cases in which a
// person may have wanted to delete the Machine: the gate was off (Restores), or the mirror had lost its MachineSet (lostItsSet).
func (s Pair) explained(w *pairs.Write, mirror *unstructured.Unstructured) *pairs.Write {
	if w != nil && w.Object == mirror && s.Restores() {
		w.Note += ". The Machine keeps running, and Poundlock recreates this object, because somebody deleted it while the feature gate " +
			"MachineAPIMigration was off, or less than " +
			authority.GateLag.String() + " after the gate was turned on. To delete the Machine, delete this object again"
	}
	if w != nil && w.Object == mirror && s.lostItsSet(mirror) {
		w.Warning = true
		w.Note += ". The Machine keeps running, and Poundlock recreates this object, because no MachineSet owned this object any more, for example after " +
			"its MachineSet was deleted with --cascade=orphan. To delete the Machine, delete " + pairs.Describe(s.MachineAPI)
	}
	return w
}

// lostItsSet reports whether the Cluster API mirror of a Machine is being deleted and has no MachineSet, although its authoritative Machine has one. If a set
// owns the mirror, deleting the mirror deletes the Machine. The person who deleted the mirror may not have seen that the set was orphaned in between.
func (s Pair) lostItsSet(mirror *unstructured.Unstructured) bool {
	return mirror == s.Core && s.Kind.Name == "Machine" && pairs.PresenceOf(s.MachineAPI) == authority.Present &&
		pairs.ControllerOf(mirror) == nil && pairs.ControllerOf(s.MachineAPI) != nil
}

// Hold returns the write that adds the sync finalizer to a mirror that is about to be deleted; nil if the mirror has the finalizer. The finalizer is missing if
// it was removed together with Poundlock. Without the finalizer, the deletion would not wait for Poundlock: nobody would release a Cluster API object that is
// still paused, and its deletion would never end.
func Hold(mirror *unstructured.Unstructured) *pairs.Write {
	if slices.Contains(mirror.GetFinalizers(), authority.SyncFinalizer) {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: mirror, Patch: pairs.MetadataPatch(map[string]any{
		"finalizers": append(slices.Clone(mirror.GetFinalizers()), authority.SyncFinalizer)})}
}

func deleted(o *unstructured.Unstructured, reason, note string) *pairs.Write {
	return &pairs.Write{Verb: pairs.Remove, Object: o, Reason: reason, Note: note}
}

// Adopters returns the MachineSet that adopts each Machine once the Machine's own set (mirror), which is being deleted, no longer owns the Machine. The keys
// are names of Machines, the values are names of sets. Machines that no set adopts have no entry. sets are all MachineSets that exist.
func Adopters(machines []*unstructured.Unstructured, mirror *unstructured.Unstructured, sets []*unstructured.Unstructured) map[string]string {
	others := make([]*policies.Object, 0, len(sets))
	for _, set := range sets {
		others = append(others, pairs.ObjectOf(set))
	}
	out := map[string]string{}
	for _, m := range machines {
		if by := authority.Adopter(pairs.ObjectOf(m), mirror.GetName(), others); by != "" {
			out[m.GetName()] = by
		}
	}
	return out
}

// detachNext returns the write that detaches the next child. It does not detach a child that another MachineSet would adopt, because that set deletes the
// Machine if it has too many. If the surroundings (the namespace, CRD or Cluster of the pair) are being deleted, the other set is deleted with them, so every
// child is detached. If the authoritative set is being deleted as well, such a child still waits: the adopting set would delete its surplus, whichever Machine
// it chooses.
func (s Pair) detachNext(side authority.API) *pairs.Write {
	stay := s.Surroundings == authority.Stay && (s.On(side.Other()) != nil || side == authority.MachineAPI)
	for _, child := range s.Children {
		if s.Adopters[child.GetName()] == "" || !stay {
			return s.detach(child, side)
		}
	}
	return nil
}

// Held returns why the deletion of a MachineSet waits; "" if it does not.
func (s Pair) Held() string {
	_, side := s.Mirror()
	if s.asked().Next() != authority.DetachChildren || s.detachNext(side) != nil {
		return ""
	}
	child := s.Children[0].GetName()
	return fmt.Sprintf("the deletion of %s's MachineSet %s waits, because MachineSet %s also selects its Machine %s and would adopt the Machine. If "+
		"MachineSet %[3]s then has more Machines than spec.replicas, it would delete the Machine with its instance. To keep the Machine, remove from it a "+
		"label that only the selector of MachineSet %[3]s has, or delete MachineSet %[3]s if nobody needs it. If nobody needs the Machine, delete the "+
		"Machine", side.Text(), s.Name, s.Adopters[child], child)
}

// detach returns the write that protects a child from the garbage collector. A Machine API object whose machine Cluster API runs gets a mark, so that the
// deletion of the object is not propagated. Any other child loses the reference to its owner.
func (s Pair) detach(child *unstructured.Unstructured, side authority.API) *pairs.Write {
	w := &pairs.Write{Verb: pairs.Patch, Object: child, Reason: "Detached",
		Note: "detached " + pairs.Describe(child) + " from its " + s.Kind.Name + ", which is being deleted while its twin in the other API stays"}
	if side == authority.MachineAPI && !pairs.Runs(child) {
		w.Patch = pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.DetachedAnnotation: "true"}})
		return w
	}
	metadata := map[string]any{"ownerReferences": pairs.OwnersWithout(child, s.On(side))}
	if _, labelled := child.GetLabels()[clusterv1.MachineSetNameLabel]; labelled && side == authority.ClusterAPI && s.Surroundings == authority.Go {
		// While the child has this label, Cluster API waits for the set to adopt it, and that set does not come back. Without the label, the Cluster becomes its
		// owner, and deletes it when the Cluster itself is deleted.
		metadata["labels"] = map[string]any{clusterv1.MachineSetNameLabel: nil}
	}
	w.Patch = pairs.MetadataPatch(metadata)
	return w
}

// releaseMirror returns the write that removes the finalizers of Poundlock and of the mirror's controllers from a mirror that is being deleted. The controllers
// are paused and would never remove their own finalizers.
func (s Pair) releaseMirror(side authority.API) *pairs.Write {
	if side == authority.MachineAPI {
		return pairs.First(s.leftoverInfra, func() *pairs.Write {
			w := s.unlessOwner(release(s.MachineAPI, authority.SyncFinalizer, s.Kind.MachineAPIFinalizer))
			if w != nil && s.IsMirror(s.Infra) && s.namedOnlyBy(s.Infra) {
				w.Warning = true
				w.Note += fmt.Sprintf(". The instance %s keeps running. Only %s still names it, which is paused: no controller acts on it",
					pairs.Nested(s.Infra, "spec", "providerID"), pairs.Describe(s.Infra))
			}
			return w
		})
	}
	return pairs.First(s.leftoverInfra, s.keepInfra, func() *pairs.Write {
		return s.unlessOwner(release(s.Core, authority.SyncFinalizer, s.Kind.ClusterAPIFinalizer))
	})
}

// leftoverInfra returns the write that removes the mirrored infrastructure machine of a Machine API object that is being deleted, once no instance is left. As
// long as the Machine API object stays, the infrastructure machine stays, too: a provider's controller must never find it deleted.
func (s Pair) leftoverInfra() *pairs.Write {
	if s.Kind.Infra == authority.InfraMachine && pairs.PresenceOf(s.MachineAPI) == authority.Deleting {
		// The object that the provider keeps for the instance is deleted first. The infrastructure machine that owns it may have no finalizer. Once that machine is
		// gone, nothing leads to the object.
		if w := s.endInfraInstance(pairs.Describe(s.MachineAPI)); w != nil {
			return w
		}
		if s.idle(s.Infra) && pairs.PresenceOf(s.Infra) == authority.Present {
			return deleted(s.Infra, "MirrorDeleted", "deleted "+pairs.Describe(s.Infra)+", because "+pairs.Describe(s.MachineAPI)+" is being deleted")
		}
	}
	return s.ReleaseInfra(s.Infra)
}

// idle reports whether infra is a mirror, and Cluster API runs no instance for it. The second holds in three cases: Machine API is authoritative, the Cluster
// API Machine does not exist, or that Machine is being deleted before any controller acted on it (unheld). It is false for an object that alone names an
// instance: without that object, nobody would find the instance.
func (s Pair) idle(infra *unstructured.Unstructured) bool {
	if !s.IsMirror(infra) || s.namedOnlyBy(infra) {
		return false
	}
	return s.Authoritative() == authority.MachineAPI || s.Core == nil && len(infra.GetOwnerReferences()) == 0 || s.unheld()
}

// namedOnlyBy reports whether infra names an instance that no Machine names any more. A backup leads to this if it has the infrastructure machine, and no
// Machine with the instance's ID. The Machine API Machine does not name the instance either if it is being deleted while Cluster API is authoritative, because
// that deletion terminates nothing.
func (s Pair) namedOnlyBy(infra *unstructured.Unstructured) bool {
	if s.Kind.Infra != authority.InfraMachine || pairs.Nested(infra, "spec", "providerID") == "" {
		return false
	}
	switch pairs.PresenceOf(s.MachineAPI) {
	case authority.Present:
		return s.Core == nil && pairs.Nested(s.MachineAPI, "spec", "providerID") == ""
	case authority.Deleting:
		return s.Core == nil && s.Authoritative() == authority.ClusterAPI
	case authority.Absent:
	}
	return false
}

// unheld reports whether the Cluster API object is being deleted while it is still paused, without its controller's finalizer and without an instance. The
// handoff does not unpause such an object, so its controllers will not clean up what belongs to it.
func (s Pair) unheld() bool {
	return pairs.PresenceOf(s.Core) == authority.Deleting && pairs.IsPaused(s.Core) &&
		!slices.Contains(s.Core.GetFinalizers(), s.Kind.ClusterAPIFinalizer) && !s.InstanceLeft()
}

// ReleaseInfra returns the write that removes the provider's finalizer from an idle infrastructure machine that is being deleted while it is paused. The mirror
// recreates the machine if it is still wanted. ReleaseInfra waits while authority moves, because nobody knows yet which API will run the instance. If the
// Machine is being deleted, the move is taken back first, or Cluster API completes the deletion.
func (s Pair) ReleaseInfra(infra *unstructured.Unstructured) *pairs.Write {
	if w := s.ReleaseInfraInstance(); w != nil {
		return w // this comes first: once the machine that owns it is gone, nothing leads to this object
	}
	if pairs.PresenceOf(infra) != authority.Deleting || !s.idle(infra) || s.Shape().Current == authority.Migrating || s.endsInstance() {
		return nil
	}
	return releasePaused(infra)
}

// endsInstance reports whether deleting the provider's machine would terminate an instance that Machine API runs. The garbage collector would then delete the
// object that the provider keeps for the instance while the handoff has not paused that object yet.
func (s Pair) endsInstance() bool {
	return s.InfraInstance != nil && !pairs.IsPaused(s.InfraInstance) && s.Source() == authority.MachineAPI && pairs.PresenceOf(s.MachineAPI) == authority.Present
}

// Replace returns the write that deletes the provider's machine of a mirror if the API server refuses to change that machine. The mirror then recreates the
// machine with the right content. Providers make most of its fields immutable, and Machine API's own webhook may add to a Machine a default of a later release
// that nobody can remove again. The first write only marks the machine (ReplacedAnnotation). The machine is paused, so no controller acts on it. Replace
// returns nil while anything else of the pair changes, such as the authority.
func (s Pair) Replace(refused *pairs.Write) *pairs.Write {
	if refused.Verb != pairs.Apply || s.Kind.Infra != authority.InfraMachine || s.Infra == nil || refused.Object.GetUID() != s.Infra.GetUID() {
		return nil
	}
	if shape := s.Shape(); shape.Current != authority.MachineAPI || shape.Requested != authority.MachineAPI || !s.idle(s.Infra) || !pairs.IsPaused(s.Infra) ||
		!pairs.IsPaused(s.Core) || s.endsInstance() {
		return nil
	}
	for _, o := range []*unstructured.Unstructured{s.MachineAPI, s.Core, s.Infra} {
		if pairs.PresenceOf(o) != authority.Present {
			return nil
		}
	}
	if _, marked := s.Infra.GetAnnotations()[authority.ReplacedAnnotation]; !marked {
		return s.markReplaced("true")
	}
	w := deleted(s.Infra, "MirrorReplaced", "deleted "+pairs.Describe(s.Infra)+" to recreate it: the API server refuses the change that would make it "+
		"equal to "+s.DescribeSource())
	w.Provided.Unchanged = true
	return w
}

// WithdrawReplacement returns the write that removes the annotation that Replace has put on a provider's machine (ReplacedAnnotation), once the machine no
// longer needs to be replaced. A deletion by a former leader may still be on its way, and could arrive after the Machine has moved. Removing the annotation
// changes the version of the object, so that such a deletion fails.
func (s Pair) WithdrawReplacement() *pairs.Write {
	if s.Infra == nil {
		return nil
	}
	if _, marked := s.Infra.GetAnnotations()[authority.ReplacedAnnotation]; !marked {
		return nil
	}
	return s.markReplaced(nil)
}

// replacing is the field manager of ReplacedAnnotation. It is not the mirror's own field manager, because the mirror's applies do not contain the annotation
// and would remove it.
const replacing = "poundlock-replace"

func (s Pair) markReplaced(value any) *pairs.Write {
	return &pairs.Write{Verb: pairs.Patch, By: replacing, Object: s.Infra, Reason: "MirrorReplaced",
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.ReplacedAnnotation: value}})}
}

// releasePaused returns the write that removes the provider's finalizer from an object that is being deleted while it is paused. The provider's controller does
// not act on a paused object and would never remove the finalizer.
func releasePaused(infra *unstructured.Unstructured) *pairs.Write {
	if !pairs.IsPaused(infra) {
		return nil
	}
	return release(infra, authority.InfraFinalizer(infra.GroupVersionKind().Group, infra.GetKind()))
}

// ReleaseInfraInstance returns the write that deletes the object that a provider keeps for an instance, when the provider's machine is being deleted. The
// instance itself stays: Machine API runs it, or has terminated it.
func (s Pair) ReleaseInfraInstance() *pairs.Write {
	goes := pairs.PresenceOf(s.Infra) == authority.Deleting && s.idle(s.Infra) && pairs.IsPaused(s.Infra)
	if goes || pairs.PresenceOf(s.InfraInstance) == authority.Deleting {
		return s.endInfraInstance("its owner")
	}
	return nil
}

// endInfraInstance returns the write that deletes the object that a provider keeps for an instance, or, if it is being deleted, the write that removes its
// finalizer. The instance stays, because the object is paused and Machine API is authoritative.
func (s Pair) endInfraInstance(cause string) *pairs.Write {
	if s.InfraInstance == nil || !s.instanceIsOurs() || s.Authoritative() != authority.MachineAPI || s.Shape().Current == authority.Migrating ||
		!pairs.IsPaused(s.InfraInstance) {
		return nil
	}
	if pairs.PresenceOf(s.InfraInstance) == authority.Deleting {
		return s.namingInstance(releasePaused(s.InfraInstance))
	}
	return deleted(s.InfraInstance, "MirrorDeleted", "deleted "+pairs.Describe(s.InfraInstance)+", because "+cause+" is being deleted")
}

// namingInstance returns the write w, which releases the object that the provider keeps for an instance (such as a VSphereVM). If this object names another
// instance than the Machine's, the function adds a warning with that instance to the write, because afterwards no object names the instance any more. This
// happens, for example, if the object was created for another Machine, whose machine of the provider was deleted without the provider's finalizer.
func (s Pair) namingInstance(w *pairs.Write) *pairs.Write {
	if w == nil {
		return nil
	}
	if id := authority.KeptForOther(pairs.ObjectOf(s.InfraInstance), pairs.ObjectOf(s.MachineAPI)); id != "" {
		w.Warning = true
		w.Note += fmt.Sprintf(". The provider kept this object for the instance %s, which is not the instance of %s. If the instance %[1]s still runs, no "+
			"object names it any more: look in the cloud, and terminate the instance if nobody needs it", id, pairs.Describe(s.MachineAPI))
	}
	return w
}

// instanceIsOurs reports whether the object that the provider keeps for an instance belongs to the mirror. That object has no mark of its own. The mark of the
// provider's machine decides, or, if that machine is gone, the mark of the Cluster API Machine. If both are gone, the object belongs to the mirror. An object
// that does not belong to the mirror has an instance of its own, which its controller terminates once somebody unpauses the object.
func (s Pair) instanceIsOurs() bool {
	switch {
	case s.Infra != nil:
		return s.IsMirror(s.Infra)
	case s.Core != nil:
		return s.IsMirror(s.Core)
	}
	return true
}

// keepInfra returns the write that removes the owner reference to the Cluster API Machine from the infrastructure machine before that Machine is released to be
// recreated. Otherwise the garbage collector would delete the infrastructure machine.
func (s Pair) keepInfra() *pairs.Write {
	if s.Infra == nil || s.Core == nil || len(pairs.OwnersWithout(s.Infra, s.Core)) == len(s.Infra.GetOwnerReferences()) ||
		pairs.PresenceOf(s.MachineAPI) != authority.Present {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.Infra, Patch: pairs.MetadataPatch(map[string]any{"ownerReferences": pairs.OwnersWithout(s.Infra, s.Core)}),
		Reason: "Detached", Note: "detached " + pairs.Describe(s.Infra) + " from its Machine, which Poundlock deletes and recreates"}
}

// release returns the write that removes finalizers; nil if o carries none of them.
func release(o *unstructured.Unstructured, finalizers ...string) *pairs.Write {
	if o == nil {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return slices.Contains(finalizers, f) })
	if len(kept) == len(o.GetFinalizers()) {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: o, Patch: pairs.MetadataPatch(map[string]any{"finalizers": kept}),
		Reason: "Released", Note: "removed the finalizers that kept " + pairs.Describe(o)}
}

// Forget returns the write that removes the finalizer and the marks (annotations) of the mirror from an object that acts on its own from now on. From a paused
// set or check it removes only the finalizer.
func (s Pair) Forget() *pairs.Write {
	if s.MachineAPI != nil {
		return pairs.First(func() *pairs.Write { return s.unmark(s.Core) }, func() *pairs.Write { return s.unmark(s.MachineAPI) })
	}
	if s.Kind.Infra != authority.InfraMachine && pairs.IsPaused(s.Core) {
		// The mark stays, so that the object can become the mirror again when a backup is restored. For a set or a check, nothing else shows that no controller acts
		// on the object.
		w := release(s.Core, authority.SyncFinalizer)
		if w != nil {
			w.Reason, w.Note = "MirrorEnded", s.ended(s.Core)
		}
		return w
	}
	if s.Kind.Infra == authority.InfraMachineTemplate {
		return s.unmark(s.Core) // the template keeps its mark, by which it is found and deleted when nothing refers to it any more
	}
	return pairs.First(func() *pairs.Write { return s.unmark(s.Infra) }, func() *pairs.Write {
		if pairs.PresenceOf(s.Core) == authority.Deleting && s.InstanceLeft() && !pairs.IsPaused(s.Core) && !pairs.IsPaused(s.Infra) {
			return nil // Cluster API has yet to terminate the instance, and may have no finalizer of its own there any more
		}
		return s.unmark(s.Core)
	})
}

func (s Pair) unmark(o *unstructured.Unstructured) *pairs.Write {
	if !s.Marked(o) {
		return nil
	}
	metadata := map[string]any{}
	if s.IsMirror(o) {
		metadata["annotations"] = map[string]any{authority.MirrorAnnotation: nil}
	}
	if i := slices.Index(o.GetFinalizers(), authority.SyncFinalizer); i >= 0 {
		metadata["finalizers"] = slices.Delete(slices.Clone(o.GetFinalizers()), i, i+1)
	}
	return &pairs.Write{Verb: pairs.Patch, Object: o, Patch: pairs.MetadataPatch(metadata), Reason: "MirrorEnded",
		Note: s.ended(o)}
}

// ended returns a sentence about what becomes of an object whose twin is gone. While the Cluster API object is being deleted, admission refuses a new Machine
// API object, so the sentence then advises to wait.
func (s Pair) ended(o *unstructured.Unstructured) string {
	switch paused := pairs.IsPaused(o); {
	case !paused && pairs.PresenceOf(o) == authority.Deleting:
		return pairs.Describe(o) + " has no twin in the other API any more, and only its own controllers complete its deletion"
	case !paused:
		return pairs.Describe(o) + " has no twin in the other API any more, and only its own controllers act on it"
	}
	alone := pairs.Describe(o) + " has no twin in the other API any more, and no controller acts on it, because it is paused"
	if pairs.PresenceOf(o) != authority.Deleting && pairs.PresenceOf(s.Core) != authority.Deleting {
		return alone + ": create its Machine API object again, or remove the annotation " + authority.PausedAnnotation + " to have Cluster API act on it"
	}
	if s.Core != nil {
		if advice := authority.DeletionPaused(s.Kind, pairs.ObjectOf(s.Core)); len(advice) > 0 {
			return alone + ", so its deletion does not end. " + strings.Join(advice[1:], ". ")
		}
	}
	return alone + ". The object is being deleted: create its Machine API object again when it is gone"
}

// ReleaseUnserved returns the write that releases a mirror that is being deleted while a kind of the pair is not served. It propagates nothing to the
// authoritative object: the deletion of the mirror's CRD may be waiting for the mirror, or the mirror's owner was deleted with a CRD. It does not release a
// Machine API object in three cases: while authority moves, while Cluster API has yet to be released, and if the kind that is not served has nothing to do with
// the object's deletion.
func (s Pair) ReleaseUnserved() *pairs.Write {
	mirror, side := s.Mirror()
	switch {
	case s.Source() == authority.Unset || pairs.PresenceOf(mirror) != authority.Deleting:
		return nil
	case side == authority.ClusterAPI && !s.IsMirror(s.Core):
		return nil
	case side == authority.MachineAPI && (s.Unserved.Group != s.Kind.MachineAPI.Group || s.Shape().Current == authority.Migrating || s.asked().Unreleased):
		return nil
	case len(s.Children) > 0:
		return s.detach(s.Children[0], side)
	}
	return s.releaseMirror(side)
}

// StaleTemplate returns the write that deletes one of the mirror's templates that nothing refers to any more: no MachineSet, and no machine that was made from
// it. It spares the template that the pair will refer to next, because that template is created before anything refers to it.
func (s Pair) StaleTemplate() *pairs.Write {
	for _, t := range s.Templates {
		if !s.IsTemplate(t) || s.Used == nil || s.Used.Has(t.GetName()) || t.GetDeletionTimestamp() != nil || s.Core != nil && t.GetName() == s.InfraName() {
			continue
		}
		return &pairs.Write{Verb: pairs.Remove, Object: t, Reason: "TemplateDeleted", Note: "deleted " + pairs.Describe(t) + ", which nothing refers to any more"}
	}
	return nil
}

// unlessOwner returns w. If w is the last write to a MachineSet that is being deleted, it makes w conditional: the write waits if a Machine has joined the set
// since the Machines of the set were listed.
func (s Pair) unlessOwner(w *pairs.Write) *pairs.Write {
	if w == nil || len(s.Children) > 0 || s.Kind.Name != "MachineSet" {
		return w
	}
	w.Provided = pairs.Proviso{Childless: true}
	return w
}

// GivenToCluster returns the write that makes the Cluster the owner of a mirror while the Cluster is being deleted. The mirror has lost its owner, because its
// set was deleted first. Cluster API's controller deletes what the Cluster owns, and waits for everything else. A conversion would set the same owner, but it
// may no longer be possible, because the infrastructure cluster is gone.
func (s Pair) GivenToCluster() *pairs.Write {
	if pairs.PresenceOf(s.Cluster) != authority.Deleting || s.Source() != authority.MachineAPI || !s.IsMirror(s.Core) ||
		pairs.PresenceOf(s.Core) != authority.Present || len(s.Core.GetOwnerReferences()) > 0 {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.Core, Patch: pairs.MetadataPatch(map[string]any{"ownerReferences": []metav1.OwnerReference{s.ClusterOwns()}}),
		Reason: "Released", Note: "made the Cluster, which is being deleted, the owner of " + pairs.Describe(s.Core) + ", so that Cluster API deletes it"}
}

// LeftBySet returns the write that removes the label of the former MachineSet from a Cluster API Machine, so that the Machine is deleted with the Cluster. The
// Machine lost this set before the Cluster was deleted. While the Machine has the label, Cluster API waits for the set to own the Machine, and the Cluster
// waits for the Machine. LeftBySet returns nil for every other Machine, and while a set may still come to own the Machine.
func (s Pair) LeftBySet() *pairs.Write {
	if s.Kind.Infra != authority.InfraMachine || s.Source() != authority.ClusterAPI || pairs.PresenceOf(s.Cluster) != authority.Deleting ||
		pairs.PresenceOf(s.Core) != authority.Present || pairs.ControllerOf(s.Core) != nil || pairs.PresenceOf(s.Parents[authority.ClusterAPI]) == authority.Present {
		return nil
	}
	if _, labelled := s.Core.GetLabels()[clusterv1.MachineSetNameLabel]; !labelled {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.Core,
		Patch:  pairs.MetadataPatch(map[string]any{"labels": map[string]any{clusterv1.MachineSetNameLabel: nil}}),
		Reason: "Released", Note: "removed the label of its former MachineSet from " + pairs.Describe(s.Core) + ", so that the Machine is deleted with the " +
			"Cluster"}
}

// LetGoOfSet returns the write that removes the owner reference to a MachineSet that is gone. It is for a Cluster API Machine that is being deleted. Cluster
// API's controller first reads the set that the Machine refers to, and without the set it never ends the deletion. Usually the Machine is gone before its set:
// a set that is being deleted waits for the Machines that its selector selects. But it does not wait for a Machine that it owns and no longer selects, because
// somebody has removed a label. The garbage collector deletes such a Machine after the set.
func (s Pair) LetGoOfSet() *pairs.Write {
	kind, ok := authority.KindNamed(s.Kind.Parent)
	owner := pairs.ControllerOf(s.Core)
	if !ok || owner == nil || owner.Kind != s.Kind.Parent || owner.Name != s.ParentName() || s.Parents[authority.ClusterAPI] != nil ||
		pairs.PresenceOf(s.Core) != authority.Deleting || pairs.IsPaused(s.Core) || !slices.Contains(s.Core.GetFinalizers(), authority.SyncFinalizer) {
		return nil
	}
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(kind.ClusterAPIGVK())
	set.SetNamespace(s.Core.GetNamespace())
	set.SetName(owner.Name)
	rest := slices.DeleteFunc(s.Core.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.UID })
	return &pairs.Write{Verb: pairs.Patch, Object: s.Core, Provided: pairs.Proviso{Gone: set},
		Patch:  pairs.MetadataPatch(map[string]any{"ownerReferences": rest}),
		Reason: "Released", Note: "removed the owner reference to MachineSet " + owner.Name + ", which is gone, from " + pairs.Describe(s.Core) +
			", so that Cluster API ends its deletion"}
}
