// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/feedback"
	"github.com/poundlock/poundlock/mirroring/fields"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/mirroring/twin"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// Next returns the one write that brings the pair closer to being equal, nil if there is none.
func Next(s *pairs.State, now time.Time) *pairs.Write {
	return stepsOf(s, now).next()
}

// next returns the write of the first step that has something to write. The order of the steps matters:
//   - If the API server does not serve a kind, the absence of objects of this kind proves nothing, so nothing else is concluded.
//   - The finding of a MachineHealthCheck under the other API is removed before a deletion is propagated, because with that finding a set deletes even a
//     paused Machine.
//   - Deletions come before the copy.
func (s steps) next() *pairs.Write {
	if s.WaitsForKind() {
		return pairs.First(s.deletion.ReleaseUnserved, s.deletion.ReleaseInfraInstance, func() *pairs.Write { return s.Waits(s.State) })
	}
	if w := pairs.First(func() *pairs.Write { return feedback.InstanceHook(s.State) },
		func() *pairs.Write { return feedback.Spared(s.State, s.Now) }, func() *pairs.Write { return status.Unjudged(s.State) }); w != nil {
		return w
	}
	if w, does := s.reflect(); does {
		return w
	}
	step, hook, follows := deletion.Asked(s.State).Next(), feedback.EtcdHook(s.State), feedback.Followed(s.State)
	switch {
	case s.recognize() != nil:
		return s.recognize()
	case s.deletion.LetGoOfSet() != nil:
		return s.deletion.LetGoOfSet()
	case feedback.Role(s.State) != nil:
		return feedback.Role(s.State)
	case hook != nil:
		return hook // before a deletion is propagated: the hook delays the drain, and the record proves that it did
	case step == authority.AwaitAuthority:
		return s.Observe(s.State)
	case step == authority.Forget:
		return pairs.First(func() *pairs.Write { return s.Outlived(s.State) }, s.deletion.Forget)
	case step == authority.ReleaseMirror && s.deletion.Restores():
		return pairs.First(func() *pairs.Write { return feedback.LastChosen(s.State) }, func() *pairs.Write { return s.deletion.Next(step) })
	case step == authority.DetachChildren && s.deletion.Held() != "":
		return s.Fails(s.State, authority.ReasonWouldBeAdopted, s.deletion.Held())
	case step != authority.KeepMirroring:
		return s.deletion.Next(step)
	case s.MachineAPI == nil:
		return s.deletion.StaleTemplate()
	case s.Source() == authority.Unset:
		return nil
	case status.Exists(s.State) != nil:
		return status.Exists(s.State)
	case follows != nil:
		return follows
	case s.deletion.LeftBySet() != nil:
		return s.deletion.LeftBySet()
	case s.Surroundings == authority.Go:
		return pairs.First(s.releaseInfra, s.deletion.GivenToCluster, s.failing(s.Reason, s.Missing))
	case s.Missing != "" && s.Source() == authority.ClusterAPI && s.Core != nil:
		return s.failsFromClusterAPI(s.Reason, s.Missing)
	case s.Missing != "":
		return pairs.First(s.deletion.GivenToCluster, s.failing(s.Reason, s.Missing))
	case s.vanished() != "":
		return pairs.First(s.keepsChildren, s.failing(reasonVanished, s.vanished()))
	case s.Source() == authority.MachineAPI || s.Core == nil:
		return s.toClusterAPI()
	}
	return s.toMachineAPI()
}

// steps has a pair, the time of the pass, and as methods the steps that make both sides of the pair equal.
type steps struct {
	*pairs.State
	status.Reporter
	deletion deletion.Pair
}

func stepsOf(s *pairs.State, now time.Time) steps {
	return steps{s, status.Reporter{Now: now}, deletion.Of(s)}
}

// failing returns a step that reports why the pair cannot be mirrored.
func (s steps) failing(reason, message string) func() *pairs.Write {
	return func() *pairs.Write { return s.Fails(s.State, reason, message) }
}

// releaseInfra returns the write that releases an idle infrastructure machine that is being deleted, nil if there is none.
func (s steps) releaseInfra() *pairs.Write { return s.deletion.ReleaseInfra(s.Infra) }

// toClusterAPI returns the next write that mirrors Machine API to Cluster API. It also creates the first Cluster API object of a pair for which Cluster API is
// authoritative (converting › Summary of the rules: Machine API, ClusterAPI, create, no mirror). That object is paused, like every mirror, until the handoff
// unpauses it.
func (s steps) toClusterAPI() *pairs.Write {
	if why := s.inTheWay(); why != "" {
		// An infrastructure machine that the mirror made may belong to somebody else's Machine that is being deleted, and be deleted with it.
		return pairs.First(s.standOff, s.pauseKept, s.releaseInfra, s.failing(authority.ReasonForeignTwin, why))
	}
	if w := s.standOffNoMore(); w != nil {
		return w
	}
	if why := s.lingers(); why != "" {
		return pairs.First(s.releaseInfra, s.failing(authority.ReasonDeleting, why))
	}
	if w := s.restoreOwner(); w != nil {
		return w // first: which set owns a Machine does not depend on whether it converts
	}
	if s.Full != "" && s.Core == nil {
		return s.Fails(s.State, authority.ReasonSetIsFull, s.Full)
	}
	converted, errs := s.ToClusterAPI()
	if len(errs) > 0 {
		return s.Fails(s.State, authority.ReasonFieldsNotConvertible, conversion.Sentences(errs))
	}
	wantInfra := twin.Of(s.State).WantInfra(converted.Infra)
	wantCore := twin.Of(s.State).WantCore(converted.Core, wantInfra)
	coreStatus, infraStatus := status.ToClusterAPI(s.State)
	return pairs.First(
		func() *pairs.Write { return s.enrol(s.MachineAPI, nil) },
		s.releaseInfra,
		s.standStill,
		func() *pairs.Write { return s.firstCore(wantCore) },
		func() *pairs.Write { return s.becomeInfra(wantInfra) },
		func() *pairs.Write { return s.changeOwner(wantCore) },
		func() *pairs.Write { return fields.Become(s.State, wantCore, s.Core) },
		twin.Of(s.State).Kept,
		func() *pairs.Write { return s.Report(s.Core, coreStatus) },
		func() *pairs.Write { return s.Report(s.Infra, infraStatus) },
		s.deletion.StaleTemplate,
		s.deletion.WithdrawReplacement,
		func() *pairs.Write { return s.Synchronized(s.State, s.MachineAPI.GetGeneration(), nil) },
		func() *pairs.Write { return fields.Unrecorded(s.State) },
		func() *pairs.Write { return fields.Yielded(s.MachineAPI) }, // last: until both sides are equal, the mirror's fields show who changed what (since)
	)
}

// lingers returns a sentence about an infrastructure machine that is being deleted and that is kept by finalizers of other controllers; "" for any other. Until
// that machine is gone, the mirror cannot recreate it with the right content, and Cluster API could not act on it after a move.
func (s steps) lingers() string {
	if s.Kind.Infra != authority.InfraMachine || pairs.PresenceOf(s.Infra) != authority.Deleting {
		return ""
	}
	own := authority.InfraFinalizer(s.Infra.GroupVersionKind().Group, s.Infra.GetKind())
	others := slices.DeleteFunc(slices.Clone(s.Infra.GetFinalizers()), func(f string) bool {
		return f == own || f == authority.SyncFinalizer || f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	})
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, which is part of the mirror, is being deleted, but finalizers of other controllers keep it (%s): wait until those controllers "+
		"remove their finalizers, or remove the finalizers yourself: kubectl -n %s edit %s %s. Poundlock then recreates the mirror",
		pairs.Describe(s.Infra), strings.Join(others, ", "), s.Infra.GetNamespace(), resource(s.Infra), s.Infra.GetName())
}

// firstCore returns the write that creates a Machine's Cluster API object before its infrastructure machine, so that the infrastructure machine names its owner
// from the beginning. Both are created paused. It returns nil for a MachineSet, because a template belongs to the Cluster and must exist before a set refers to
// it.
func (s steps) firstCore(want *unstructured.Unstructured) *pairs.Write {
	if s.Core != nil || s.Kind.Infra != authority.InfraMachine || s.Source() != authority.MachineAPI {
		return nil
	}
	return fields.Become(s.State, want, nil)
}

// standStill returns the write that pauses the infrastructure machine before the mirror makes the Cluster API Machine its owner. Without an owner of that name,
// the provider does not act on an infrastructure machine, even if that is not paused. An infrastructure machine is in this state if it was restored without its
// Machine, which was authoritative in Cluster API. It is paused also while it is being deleted: as soon as it had an owner, the provider would complete the
// deletion, and terminate the instance. The pause is written in the handoff's name, because the managed fields show since when an object is paused.
func (s steps) standStill() *pairs.Write {
	o := s.Infra
	owned := func(r metav1.OwnerReference) bool { return s.Core != nil && r.UID == s.Core.GetUID() }
	if s.Kind.Infra != authority.InfraMachine || pairs.PresenceOf(o) == authority.Absent || pairs.IsPaused(o) ||
		slices.ContainsFunc(o.GetOwnerReferences(), owned) {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: o, By: ownership.HandoffManager, Reason: "MirrorPaused",
		Note:  "paused " + pairs.Describe(o) + " before a Machine becomes its owner",
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.PausedAnnotation: "true"}})}
}

// becomeInfra returns the write that makes the infrastructure object equal to want. It returns nil for a kind without such an object.
func (s steps) becomeInfra(want *unstructured.Unstructured) *pairs.Write {
	if want == nil {
		return nil
	}
	return fields.Become(s.State, want, s.infraNamed(want.GetName()))
}

// infraNamed returns the infrastructure object of that name, nil if this pass has not read one.
func (s steps) infraNamed(name string) *unstructured.Unstructured {
	if s.Infra != nil && s.Infra.GetName() == name {
		return s.Infra
	}
	for _, t := range s.Templates {
		if t.GetName() == name {
			return t
		}
	}
	return nil
}

// toMachineAPI returns the next write that mirrors Cluster API to Machine API.
func (s steps) toMachineAPI() *pairs.Write {
	if w := s.restoreOwner(); w != nil {
		return w // first: which set owns a Machine does not depend on whether it converts
	}
	if owner := s.RunsAnother(s.Infra); owner != "" {
		return pairs.First(func() *pairs.Write { return fields.Copies(s.State, "providerID") }, s.failing(authority.ReasonForeignTwin, s.refersToAnothers(owner)))
	}
	infra := s.Infra
	if infra == nil {
		infra = twin.Of(s.State).StandIn()
	}
	if infra == nil && s.InfraName() != "" {
		return s.failsFromClusterAPI(authority.ReasonInfraNotFound, s.infraMissing())
	}
	converted, errs := core.ToMachineAPI(s.Kind.Name, core.Twin{Core: s.Core, Infra: infra}, s.Env)
	if len(errs) > 0 {
		return s.failsFromClusterAPI(authority.ReasonFieldsNotConvertible, conversion.Sentences(errs))
	}
	want := twin.Of(s.State).WantMachineAPI(converted)
	reported := core.StatusToMachineAPI(s.Kind.Name, core.Twin{Core: s.Core, Infra: infra}, s.Env)
	return pairs.First(
		func() *pairs.Write { return s.enrol(s.Core, map[string]string{authority.MirrorAnnotation: s.Mark()}) },
		func() *pairs.Write { return status.Found(s.State) },
		s.markInfra,
		s.claimInfra,
		func() *pairs.Write { return fields.Yielded(s.Core) },
		func() *pairs.Write { return fields.Yielded(s.Infra) },
		s.reattach,
		func() *pairs.Write { return s.Report(s.MachineAPI, reported) }, // this comes before the spec, which the API server may refuse
		func() *pairs.Write { return fields.Become(s.State, want, s.MachineAPI) },
		s.deletion.StaleTemplate,
		func() *pairs.Write { return s.Synchronized(s.State, s.Core.GetGeneration(), reported) },
	)
}

// failsFromClusterAPI returns the next write for a pair whose Machine API mirror cannot be made equal. It first keeps those fields of the mirror correct that
// other controllers act on: the status of a Machine, the instance that it has, and the wanted replicas of a set. For example, the autoscaler counts a Machine
// without a Node as one that does not start, and a Machine with an error as failed, and then shrinks the set. After these writes, it reports the reason.
func (s steps) failsFromClusterAPI(reason, message string) *pairs.Write {
	return pairs.First(
		func() *pairs.Write {
			return s.Report(s.MachineAPI, core.StatusToMachineAPI(s.Kind.Name, core.Twin{Core: s.Core, Infra: s.Infra}, s.Env))
		},
		func() *pairs.Write { return fields.Copies(s.State, "providerID") },
		func() *pairs.Write { return fields.Copies(s.State, "replicas") },
		s.failing(reason, message),
	)
}

// infraMissing returns a sentence about an infrastructure object that does not exist although the authoritative Cluster API object refers to it. The mirror
// does not create that object.
func (s steps) infraMissing() string {
	return s.Kind.NoInfra(fmt.Sprintf("%s %s/%s", s.InfraKind().Kind, s.Pair.ClusterAPI, s.InfraName()), s.InstanceKnown())
}

// reflect returns the next write of a Machine that a mirrored Cluster API MachineSet has created and that gets a Machine API twin: "if, and only if, the
// Cluster API MachineSet has a Machine API equivalent" (converting › Creation of new Machines). does reports whether the pair is such a Machine. The first
// write puts the sync finalizer on the Cluster API Machine (enrol). If that Machine were deleted before it has the finalizer, its twin would outlive it, and
// Poundlock would recreate the Machine.
func (s steps) reflect() (w *pairs.Write, does bool) {
	if s.MachineAPI != nil || !s.reflected() {
		return nil, false
	}
	converted, errs := core.ToMachineAPI(s.Kind.Name, core.Twin{Core: s.Core, Infra: s.Infra}, s.Env)
	if len(errs) > 0 {
		return nil, false // There is no Machine API object to report it on. The MachineSet's condition reports it.
	}
	want := twin.Of(s.State).WantMachineAPI(converted)
	pairs.Put(want, string(authority.ClusterAPI), "spec", "authoritativeAPI")
	return pairs.First(
		func() *pairs.Write { return s.enrol(s.Core, map[string]string{authority.MirrorAnnotation: s.Mark()}) },
		func() *pairs.Write { return fields.Become(s.State, want, nil) },
	), true
}

// reflected reports whether a Machine belongs to a Cluster API MachineSet that is authoritative for a mirrored pair, and whether the Machine is not paused. A
// paused Machine may have been the mirror of a Machine that was deleted, with its instance, while Poundlock was away. If it got a twin, the handoff would
// unpause it, and nobody has asked for that.
func (s steps) reflected() bool {
	owner, set, parent := pairs.ControllerOf(s.Core), s.Parents[authority.ClusterAPI], s.Parents[authority.MachineAPI]
	return pairs.PresenceOf(s.Core) == authority.Present && !pairs.IsPaused(s.Core) && s.Infra != nil && s.Missing == "" &&
		owner != nil && pairs.PresenceOf(set) == authority.Present && owner.UID == set.GetUID() &&
		pairs.PresenceOf(parent) == authority.Present && authority.Source(pairs.ShapeOf(parent)) == authority.ClusterAPI
}

// enrol returns the write that adds the sync finalizer and the given annotations to the authoritative object; nil if it has them. It is called only once the
// twin can be made.
func (s steps) enrol(o *unstructured.Unstructured, annotations map[string]string) *pairs.Write {
	metadata := map[string]any{}
	if !slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) {
		metadata["finalizers"] = append(slices.Clone(o.GetFinalizers()), authority.SyncFinalizer)
	}
	for k, v := range annotations {
		if o.GetAnnotations()[k] != v {
			metadata["annotations"] = map[string]any{k: v}
		}
	}
	if len(metadata) == 0 {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: o, Patch: pairs.MetadataPatch(metadata), Reason: "MirrorEnrolled",
		Note: pairs.Describe(o) + " has a twin in the other API from now on, and Poundlock keeps the two equal"}
}

// recognize returns the next write that marks Cluster API objects as the mirror of a Machine API Machine. It is for a Machine that is being deleted before it
// was mirrored, because a backup was restored. The Cluster API objects would have become the mirror: they have the Machine's instance, and are paused. Because
// they are paused, nobody else would complete their deletion.
func (s steps) recognize() *pairs.Write {
	if s.Kind.Infra != authority.InfraMachine || s.Core == nil || pairs.PresenceOf(s.MachineAPI) != authority.Deleting || s.Surroundings != authority.Stay ||
		s.Shape().Requested != authority.MachineAPI || s.Source() == authority.ClusterAPI || s.Shape().Current == authority.Migrating ||
		!slices.Contains(s.MachineAPI.GetFinalizers(), authority.SyncFinalizer) {
		return nil
	}
	for _, o := range []*unstructured.Unstructured{s.Core, s.Infra} {
		if o != nil && (!authority.SameInstance(pairs.ObjectOf(o), pairs.ObjectOf(s.MachineAPI)) || !pairs.IsPaused(o)) {
			return nil
		}
	}
	if w := s.markInfra(); w != nil || s.IsMirror(s.Core) || pairs.PresenceOf(s.Core) != authority.Present {
		return w
	}
	return s.mark(s.Core)
}

// markInfra returns the write that marks the infrastructure machine of a pair as the mirror's, so that the locks on it hold when Machine API becomes
// authoritative. It does not mark a template, because several sets may share one, and a template belongs to a user unless the mirror made it.
func (s steps) markInfra() *pairs.Write {
	if s.Infra == nil || s.Kind.Infra != authority.InfraMachine || s.IsMirror(s.Infra) {
		return nil
	}
	return s.mark(s.Infra)
}

func (s steps) mark(o *unstructured.Unstructured) *pairs.Write {
	return &pairs.Write{Verb: pairs.Patch, Object: o, Reason: "MirrorEnrolled", Note: pairs.Describe(o) + " has a twin in the other API from now on, and " +
		"Poundlock keeps the two equal",
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.MirrorAnnotation: s.Mark()}})}
}

// claimInfra returns the write that makes the Machine the owner of its infrastructure machine. Cluster API does this itself, but not while the Machine is
// paused. And the provider's controller does not acknowledge the pause of a machine without an owner, so a Machine that was made for Cluster API would never be
// released.
func (s steps) claimInfra() *pairs.Write {
	if s.Kind.Infra != authority.InfraMachine || pairs.PresenceOf(s.Infra) != authority.Present || pairs.ControllerOf(s.Infra) != nil {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.Infra, Reason: "MirrorClaimed", Note: pairs.Describe(s.Infra) + " has its Machine as its owner from " +
		"now on",
		Patch: pairs.MetadataPatch(map[string]any{"ownerReferences": append(pairs.OwnersWithout(s.Infra, s.Core), pairs.OwnedBy(s.Core, true))})}
}

// reattach returns the write that removes the annotation DetachedAnnotation from an object that has a MachineSet again.
func (s steps) reattach() *pairs.Write {
	owner, set := pairs.ControllerOf(s.MachineAPI), s.Parents[authority.MachineAPI]
	if _, marked := s.MachineAPI.GetAnnotations()[authority.DetachedAnnotation]; !marked || owner == nil || pairs.PresenceOf(set) != authority.Present ||
		owner.UID != set.GetUID() {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.MachineAPI, Reason: "Attached", Note: pairs.Describe(s.MachineAPI) + " has a MachineSet again",
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.DetachedAnnotation: nil}})}
}
