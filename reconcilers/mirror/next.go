// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// next is the one write that brings the pair closer to being equal, nil if there is none.
func next(s *state, now time.Time) *write { return converting{now}.next(s) }

func (c converting) next(s *state) *write {
	if s.waitsForKind() {
		return first(s.releaseUnserved, func() *write { return c.waits(s) })
	}
	if w, does := c.reflect(s); does {
		return w
	}
	step, hook, follows := s.deletion().Next(), s.etcdHook(), s.followed()
	switch {
	case hook != nil:
		return hook // before a deletion goes over to the other side: what holds a drain, and the record that it did
	case step == authority.AwaitAuthority:
		return c.observe(s)
	case step == authority.Forget:
		return first(func() *write { return c.outlived(s) }, s.forget)
	case step != authority.KeepMirroring:
		return s.delete(step)
	case s.machineAPI == nil:
		return s.staleTemplate()
	case s.source() == authority.Unset:
		return nil
	case follows != nil:
		return follows
	case s.surroundings == authority.Go:
		return first(func() *write { return s.releaseInfra(s.infra) }, s.givenToCluster, func() *write { return c.fails(s, s.reason, s.missing) })
	case s.missing != "" && s.source() == authority.ClusterAPI && s.core != nil:
		return c.failsFromClusterAPI(s, s.reason, s.missing)
	case s.missing != "":
		return first(s.givenToCluster, func() *write { return c.fails(s, s.reason, s.missing) })
	case s.source() == authority.MachineAPI || s.core == nil:
		return c.toClusterAPI(s)
	}
	return c.toMachineAPI(s)
}

// converting decides at a time.
type converting struct {
	now time.Time
}

// toClusterAPI mirrors Machine API to Cluster API. It also makes the first Cluster API object of a pair that Cluster
// API is authoritative for (converting › Summary of the rules: Machine API, ClusterAPI, create, no mirror): paused, like
// every mirror, until the handoff releases it.
func (c converting) toClusterAPI(s *state) *write {
	if why := s.inTheWay(); why != "" {
		// What the mirror made may belong to a stranger that goes, and go with it.
		return first(func() *write { return s.releaseInfra(s.infra) }, func() *write { return c.fails(s, authority.ReasonForeignTwin, why) })
	}
	if w := s.restoreOwner(); w != nil {
		return w // first: whose a Machine is does not depend on whether it converts
	}
	twin, errs := core.ToClusterAPI(s.kind.Name, s.machineAPI, s.env)
	if len(errs) > 0 {
		return c.fails(s, "FieldsNotConvertible", sentences(errs))
	}
	wantInfra := s.wantInfra(twin.Infra)
	wantCore := s.wantCore(twin.Core, wantInfra)
	coreStatus, infraStatus := core.StatusToClusterAPI(s.kind.Name, s.machineAPI, s.env)
	return first(
		func() *write { return s.enrol(s.machineAPI, nil) },
		func() *write { return s.releaseInfra(s.infra) },
		func() *write { return s.firstCore(wantCore) },
		func() *write { return s.becomeInfra(wantInfra) },
		func() *write { return s.become(wantCore, s.core) },
		func() *write { return c.report(s.core, coreStatus) },
		func() *write { return c.report(s.infra, infraStatus) },
		s.staleTemplate,
		func() *write { return c.synchronized(s, s.machineAPI.GetGeneration(), nil) },
		func() *write { return yielded(s.machineAPI) }, // last: until the mirror is equal, what it owns here shows who has changed what (since)
	)
}

// firstCore makes a Machine's Cluster API object before what belongs to it, so that the latter names its owner from the first. Both are paused
// from the first. A template belongs to the Cluster, and is there before a set refers to it.
func (s *state) firstCore(want *unstructured.Unstructured) *write {
	if s.core != nil || s.kind.Infra != authority.InfraMachine || s.source() != authority.MachineAPI {
		return nil
	}
	return s.become(want, nil)
}

// becomeInfra makes the infrastructure object what is wanted, where the kind has one.
func (s *state) becomeInfra(want *unstructured.Unstructured) *write {
	if want == nil {
		return nil
	}
	return s.become(want, s.infraNamed(want.GetName()))
}

// infraNamed is the infrastructure object of that name, as far as it was read.
func (s *state) infraNamed(name string) *unstructured.Unstructured {
	if s.infra != nil && s.infra.GetName() == name {
		return s.infra
	}
	for _, t := range s.templates {
		if t.GetName() == name {
			return t
		}
	}
	return nil
}

// toMachineAPI mirrors Cluster API to Machine API.
func (c converting) toMachineAPI(s *state) *write {
	if w := s.restoreOwner(); w != nil {
		return w // first: whose a Machine is does not depend on whether it converts
	}
	infra := s.infra
	if infra == nil {
		infra = s.standIn()
	}
	if infra == nil && s.infraName() != "" {
		return c.failsFromClusterAPI(s, "InfrastructureNotFound", s.infraMissing())
	}
	converted, errs := core.ToMachineAPI(s.kind.Name, core.Twin{Core: s.core, Infra: infra}, s.env)
	if len(errs) > 0 {
		return c.failsFromClusterAPI(s, "FieldsNotConvertible", sentences(errs))
	}
	want := s.wantMachineAPI(converted)
	status := core.StatusToMachineAPI(s.kind.Name, core.Twin{Core: s.core, Infra: infra}, s.env)
	return first(
		func() *write { return s.enrol(s.core, map[string]string{authority.MirrorAnnotation: s.mark()}) },
		s.found,
		s.markInfra,
		s.claimInfra,
		func() *write { return yielded(s.core) },
		func() *write { return yielded(s.infra) },
		s.reattach,
		func() *write { return c.report(s.machineAPI, status) }, // before the rest, which the API server may refuse
		func() *write { return s.become(want, s.machineAPI) },
		s.staleTemplate,
		func() *write { return c.synchronized(s, s.core.GetGeneration(), status) },
	)
}

// failsFromClusterAPI reports why the Machine API's mirror cannot be made equal, and keeps true on it what others act by: the status of a Machine,
// whose instance it is, and how many a set is to have. The autoscaler counts a Machine without a Node as one that does not start, and one with an error
// as failed, and then shrinks the set.
func (c converting) failsFromClusterAPI(s *state, reason, message string) *write {
	return first(
		func() *write {
			return c.report(s.machineAPI, core.StatusToMachineAPI(s.kind.Name, core.Twin{Core: s.core, Infra: s.infra}, s.env))
		},
		func() *write { return s.copies("providerID") },
		func() *write { return s.copies("replicas") },
		func() *write { return c.fails(s, reason, message) },
	)
}

// copyManager owns what is copied field by field. An update under the mirror's own name that sets a spec would look like its creation of the object (created).
const copyManager = "poundlock-copy"

// copies writes a field of spec that both APIs have in one form to the Machine API's mirror, where the authority has another value.
func (s *state) copies(name string) *write {
	path := []string{"spec", name}
	value := valueAt(s.core, path)
	if value == nil || name == "replicas" && !s.kind.Scales || ownership.Has(valueAt(s.machineAPI, path), value) {
		return nil
	}
	return &write{verb: patch, by: copyManager, object: s.machineAPI, patch: map[string]any{"spec": map[string]any{name: value}}, reason: "MirrorUpdated", fields: []string{"spec." + name},
		note: fmt.Sprintf("made spec.%s of %s equal to %s, which cannot be mirrored as a whole", name, describe(s.machineAPI), s.describeSource())}
}

// infraMissing returns a sentence about an object that the authoritative Cluster API object refers to and that does not exist. The mirror does not create it.
func (s *state) infraMissing() string {
	what := fmt.Sprintf("%s %s/%s, to which the Cluster API %s refers, does not exist. ", s.infraKind().Kind, s.pair.ClusterAPI, s.infraName(), s.kind.Name)
	if s.kind.InfraActs() {
		return what + authority.NoInfraRecreated(s.instanceKnown())
	}
	return what + "Poundlock does not recreate it while Cluster API is authoritative. Restore it, or correct spec.template.spec.infrastructureRef."
}

// instanceKnown reports whether the Machines of both APIs have the ID of the instance.
func (s *state) instanceKnown() bool {
	id := nested(s.core, "spec", "providerID")
	return id != "" && s.machineAPI != nil && nested(s.machineAPI, "spec", "providerID") == id
}

// standIn is what the provider's machine was when the Machine API object was last made equal to it. Where somebody has deleted it, a move to
// the Machine API goes on with that, or it would wait for ever; it is not created, as Cluster API would then act on it. Without the ID of an
// instance such a move does not start, and the mirror is not equal.
func (s *state) standIn() *unstructured.Unstructured {
	if s.kind.Infra != authority.InfraMachine || s.said().Requested != authority.MachineAPI || !s.instanceKnown() {
		return nil
	}
	twin, errs := core.ToClusterAPI(s.kind.Name, s.machineAPI, s.env)
	if len(errs) > 0 || twin.Infra == nil {
		return nil
	}
	twin.Infra.SetName(s.infraName())
	return twin.Infra
}

// observe mirrors status alone, while the authority's controller ends the machine.
func (c converting) observe(s *state) *write {
	if s.source() == authority.ClusterAPI {
		status := core.StatusToMachineAPI(s.kind.Name, core.Twin{Core: s.core, Infra: s.infra}, s.env)
		return c.report(s.machineAPI, status)
	}
	coreStatus, infraStatus := core.StatusToClusterAPI(s.kind.Name, s.machineAPI, s.env)
	return first(
		func() *write { return c.report(s.mirrorOnly(s.core), coreStatus) },
		func() *write { return c.report(s.mirrorOnly(s.infra), infraStatus) },
	)
}

// reflect makes the Machine API twin of a Machine that a mirrored Cluster API MachineSet made: "if, and only if, the
// Cluster API MachineSet has a Machine API equivalent" (converting › Creation of new Machines). The Cluster API Machine is
// enrolled first: were it deleted unseen, its twin would outlive it and have it recreated.
func (c converting) reflect(s *state) (w *write, does bool) {
	if s.machineAPI != nil || !s.reflected() {
		return nil, false
	}
	converted, errs := core.ToMachineAPI(s.kind.Name, core.Twin{Core: s.core, Infra: s.infra}, s.env)
	if len(errs) > 0 {
		return nil, false // There is no Machine API object to report it on. The MachineSet's condition reports it.
	}
	want := s.wantMachineAPI(converted)
	put(want, string(authority.ClusterAPI), "spec", "authoritativeAPI")
	return first(
		func() *write { return s.enrol(s.core, map[string]string{authority.MirrorAnnotation: s.mark()}) },
		func() *write { return s.become(want, nil) },
	), true
}

// reflected reports whether a Machine belongs to a Cluster API MachineSet that is authoritative for a mirrored pair.
func (s *state) reflected() bool {
	owner, set, twin := controllerOf(s.core), s.parents[authority.ClusterAPI], s.parents[authority.MachineAPI]
	return presence(s.core) == authority.Present && s.infra != nil && s.missing == "" &&
		owner != nil && presence(set) == authority.Present && owner.UID == set.GetUID() &&
		presence(twin) == authority.Present && authority.Source(shape(twin)) == authority.ClusterAPI
}

// wantInfra is the infrastructure object as it should be: an infrastructure machine of its Machine's, or a template
// named after its content; nil for a kind without.
func (s *state) wantInfra(converted *unstructured.Unstructured) *unstructured.Unstructured {
	if converted == nil {
		return nil
	}
	want := s.mirrored(converted, s.infraKind().GroupVersion().String(), s.infraKind().Kind, s.pair.ClusterAPI)
	if s.kind.Infra == authority.InfraMachineTemplate {
		want.SetName(converted.GetName())
		labels := want.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[authority.MachineSetLabel] = core.SetLabel(s.name)
		want.SetLabels(labels)
		want.SetOwnerReferences([]metav1.OwnerReference{s.clusterOwns()})
		return want
	}
	want.SetName(s.infraName())
	if s.core != nil {
		want.SetOwnerReferences([]metav1.OwnerReference{ownedBy(s.core, true)})
	}
	return want
}

func (s *state) wantCore(converted, infra *unstructured.Unstructured) *unstructured.Unstructured {
	want := s.mirrored(converted, s.kind.ClusterAPI.String(), s.kind.Name, s.pair.ClusterAPI)
	want.SetName(s.name)
	if infra != nil {
		put(want, infra.GetName(), s.infraRef()...)
	}
	want.SetFinalizers([]string{authority.SyncFinalizer})
	want.SetOwnerReferences([]metav1.OwnerReference{s.coreOwner()})
	return want
}

// coreOwner is the twin of the Machine API object's owner; where there is none, the Cluster. A set of Cluster API's that acts keeps what it was given, whatever
// becomes of the Machine API's set: without it, one that goes on would make another Machine, and one that is being deleted would leave this one behind.
func (s *state) coreOwner() metav1.OwnerReference {
	set := s.parents[authority.ClusterAPI]
	if ref := controllerOf(s.machineAPI); ref != nil && ref.Kind == s.kind.Parent && !s.foreignParent() && (presence(set) == authority.Present || s.belongsTo(set)) {
		return ownedBy(set, true) // one that is being deleted keeps what it has: a move may still end with it authoritative, and what is not to go with it is detached
	}
	if s.propagated() && s.gave(set) {
		return ownedBy(set, true)
	}
	return s.clusterOwns()
}

// belongsTo reports whether the Cluster API object names the set as its owner.
func (s *state) belongsTo(set *unstructured.Unstructured) bool {
	owner := controllerOf(s.core)
	return owner != nil && set != nil && owner.UID == set.GetUID()
}

// gave reports whether the mirror made the set the owner. A set that adopted the Machine by its labels may be a stranger, which would count it.
func (s *state) gave(set *unstructured.Unstructured) bool {
	return ownership.Owns(s.core, "f:metadata", "f:ownerReferences", fmt.Sprintf(`k:{"uid":%q}`, set.GetUID()))
}

func (s *state) clusterOwns() metav1.OwnerReference { return ownedBy(s.cluster, false) }

func ownedBy(o *unstructured.Unstructured, controls bool) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(),
		Controller: &controls, BlockOwnerDeletion: &yes}
}

// mirrored is the part that all Cluster API mirrors share: marked, and paused in the very write that creates them.
func (s *state) mirrored(converted *unstructured.Unstructured, apiVersion, kind, namespace string) *unstructured.Unstructured {
	want := s.bare(converted, apiVersion, kind, namespace)
	annotations := want.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[authority.MirrorAnnotation] = s.mark()
	annotations[authority.PausedAnnotation] = "true"
	want.SetAnnotations(annotations)
	return want
}

func (s *state) wantMachineAPI(converted *unstructured.Unstructured) *unstructured.Unstructured {
	want := s.bare(converted, s.kind.MachineAPI.String(), s.kind.Name, s.pair.MachineAPI)
	want.SetName(s.name)
	want.SetFinalizers([]string{authority.SyncFinalizer})
	s.leave(want)
	s.show(want)
	unstructured.RemoveNestedField(want.Object, "spec", "authoritativeAPI")
	if s.machineAPI != nil {
		core.KeepSpelling(s.kind.Name, s.machineAPI, want, s.env)
	}
	if s.infra != nil && s.kind.InfraActs() {
		put(want, fmt.Sprint(s.infra.GetGeneration()), "metadata", "annotations", authority.InfraGenerationAnnotation)
	}
	if s.kind.ObeysAnnotation { // from its creation on: its controller may know of no authority
		put(want, authority.PausedByPoundlock, "metadata", "annotations", authority.PausedAnnotation)
	}
	if s.machineAPI != nil && ownership.Owns(s.machineAPI, "f:spec", "f:authoritativeAPI") {
		// Set at creation; an apply without it would remove it, and the CRD's default is a request to move.
		put(want, nested(s.machineAPI, "spec", "authoritativeAPI"), "spec", "authoritativeAPI")
	}
	s.marksOn(want)
	want.SetOwnerReferences(s.machineAPIOwner())
	return want
}

// machineAPIOwner is the twin of the Cluster API object's owner. One that is being deleted stays named, so that the collector
// finds what it is to take along.
func (s *state) machineAPIOwner() []metav1.OwnerReference {
	set := s.parents[authority.MachineAPI]
	if ref := controllerOf(s.core); ref != nil && ref.Kind == s.kind.Parent && presence(set) == authority.Present {
		return []metav1.OwnerReference{ownedBy(set, true)}
	}
	if ref := controllerOf(s.machineAPI); ref != nil && ref.Kind == s.kind.Parent {
		return []metav1.OwnerReference{*ref}
	}
	return nil
}

// bare is the content of an apply: identity, labels, annotations and spec of a converted object, without what belongs to
// one object alone.
func (s *state) bare(converted *unstructured.Unstructured, apiVersion, kind, namespace string) *unstructured.Unstructured {
	want := &unstructured.Unstructured{Object: map[string]any{}}
	want.SetAPIVersion(apiVersion)
	want.SetKind(kind)
	want.SetNamespace(namespace)
	labels := converted.GetLabels()
	maps.DeleteFunc(labels, func(k, _ string) bool { return authority.Theirs(k) && !s.selects(k) })
	if len(labels) > 0 {
		want.SetLabels(labels)
	}
	annotations := converted.GetAnnotations()
	maps.DeleteFunc(annotations, func(k, _ string) bool { return authority.Theirs(k) })
	if len(annotations) > 0 {
		want.SetAnnotations(annotations)
	}
	if spec, ok := converted.Object["spec"].(map[string]any); ok {
		want.Object["spec"] = (&unstructured.Unstructured{Object: spec}).DeepCopy().Object
	}
	return want
}

// become makes live what is wanted: by creating it, or by an apply, after a change of owner of fields where one is needed.
func (s *state) become(want, live *unstructured.Unstructured) *write {
	if live == nil {
		return &write{verb: create, object: want, reason: "MirrorCreated", note: "created " + describe(want) + " to mirror " + s.describeSource()}
	}
	want, conceded := s.concede(want, live)
	if managed := ownership.Takeover(want, live, s.made == live.GetUID(), append(conceded, "spec.authoritativeAPI")...); managed != nil {
		return &write{verb: patch, object: live, patch: metadataPatch(map[string]any{"managedFields": managed}),
			reason: "FieldsTakenOver"}
	}
	changed := ownership.Changes(want, live)
	if len(changed) == 0 {
		changed = s.unclaimed(want, live)
	}
	if len(changed) == 0 {
		return nil
	}
	want = want.DeepCopy()
	want.SetResourceVersion(live.GetResourceVersion())
	want.SetUID(live.GetUID()) // by its version alone, an apply recreates an object that was deleted meanwhile
	return &write{verb: apply, object: want, reason: "MirrorUpdated", fields: changed,
		note: fmt.Sprintf("made %s equal to %s: %s", describe(live), s.describeSource(), brief(changed))}
}

// yielded leaves the fields of an authoritative object to those who have them too.
func yielded(o *unstructured.Unstructured) *write {
	if o == nil {
		return nil
	}
	managed := ownership.Yield(o)
	if managed == nil {
		return nil
	}
	return &write{verb: patch, object: o, patch: metadataPatch(map[string]any{"managedFields": managed}),
		reason: "FieldsYielded"}
}

// enrol puts the sync finalizer (and a mark) on the authoritative object, only once its twin can be made.
func (s *state) enrol(o *unstructured.Unstructured, annotations map[string]string) *write {
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
	return &write{verb: patch, object: o, patch: metadataPatch(metadata), reason: "MirrorEnrolled", note: describe(o) + " has a twin from now on"}
}

// markInfra marks the infrastructure machine of a pair, so that its locks hold when Machine API is authoritative. A
// template may be shared and is a user's own unless the mirror made it: it is left as it is.
func (s *state) markInfra() *write {
	if s.infra == nil || s.kind.Infra != authority.InfraMachine || s.isMirror(s.infra) {
		return nil
	}
	return &write{verb: patch, object: s.infra, reason: "MirrorEnrolled", note: describe(s.infra) + " has a twin from now on",
		patch: metadataPatch(map[string]any{"annotations": map[string]any{authority.MirrorAnnotation: s.mark()}})}
}

// claimInfra has an infrastructure machine belong to its Machine. Cluster API does so itself, but not while it is paused, and the provider's
// controller acknowledges no pause of what belongs to nobody: a Machine that was made for Cluster API would never be released.
func (s *state) claimInfra() *write {
	if s.kind.Infra != authority.InfraMachine || presence(s.infra) != authority.Present || controllerOf(s.infra) != nil {
		return nil
	}
	return &write{verb: patch, object: s.infra, reason: "MirrorClaimed", note: describe(s.infra) + " belongs to its Machine from now on",
		patch: metadataPatch(map[string]any{"ownerReferences": append(without(s.infra, s.core), ownedBy(s.core, true))})}
}

// reattach takes back the mark of a detached object that has a parent again.
func (s *state) reattach() *write {
	owner, set := controllerOf(s.machineAPI), s.parents[authority.MachineAPI]
	if _, marked := s.machineAPI.GetAnnotations()[authority.DetachedAnnotation]; !marked || owner == nil || presence(set) != authority.Present || owner.UID != set.GetUID() {
		return nil
	}
	return &write{verb: patch, object: s.machineAPI, reason: "Attached", note: describe(s.machineAPI) + " has a MachineSet again",
		patch: metadataPatch(map[string]any{"annotations": map[string]any{authority.DetachedAnnotation: nil}})}
}

// staleTemplate deletes a template of the mirror's that nothing refers to: no MachineSet, and no machine that was made
// from it. The one that the pair will refer to next exists before it is referred to, and is spared.
func (s *state) staleTemplate() *write {
	for _, t := range s.templates {
		if !s.isTemplate(t) || s.used == nil || s.used.Has(t.GetName()) || t.GetDeletionTimestamp() != nil || s.core != nil && t.GetName() == s.infraName() {
			continue
		}
		return &write{verb: remove, object: t, reason: "TemplateDeleted", note: "deleted " + describe(t) + ", which nothing refers to any more"}
	}
	return nil
}

// sentences is what a person reads of fields that do not convert: every one, by path.
func sentences(errs field.ErrorList) string {
	var out []string
	for _, e := range errs {
		why := e.Detail
		if why == "" {
			why = e.ErrorBody()
		}
		out = append(out, e.Field+": "+why)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "; ")
}
