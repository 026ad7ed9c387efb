// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package twin

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// Twin is a pair in the role of the object whose mirror is wanted: its methods return the wanted mirror.
type Twin struct{ *pairs.State }

// Of returns a pair as a Twin.
func Of(s *pairs.State) Twin { return Twin{s} }

// StandIn returns the provider's machine as it was when the Machine API object was last made equal to it. If somebody has deleted the provider's machine, a
// move to the Machine API continues with this stand-in. Otherwise the move would wait for ever. The stand-in is not created in the API server, because Cluster
// API would then act on it. Without the ID of an instance such a move does not start, and the mirror is not equal.
func (s Twin) StandIn() *unstructured.Unstructured {
	if s.Kind.Infra != authority.InfraMachine || s.Shape().Requested != authority.MachineAPI || !s.InstanceKnown() {
		return nil
	}
	twin, errs := s.ToClusterAPI()
	if len(errs) > 0 || twin.Infra == nil {
		return nil
	}
	twin.Infra.SetName(s.InfraName())
	return twin.Infra
}

// WantInfra returns the wanted infrastructure object: an infrastructure machine that its Machine owns, or a template that is named after its content. It
// returns nil for a kind without such an object.
func (s Twin) WantInfra(converted *unstructured.Unstructured) *unstructured.Unstructured {
	if converted == nil {
		return nil
	}
	want := s.mirrored(converted, s.InfraKind().GroupVersion().String(), s.InfraKind().Kind, s.Pair.ClusterAPI)
	if s.Kind.Infra == authority.InfraMachine {
		keepPause(want, s.Infra)
	}
	if s.Kind.Infra == authority.InfraMachineTemplate {
		want.SetName(converted.GetName())
		labels := want.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[machineapi.MachineSetLabel] = core.SetLabel(s.Name)
		want.SetLabels(labels)
		want.SetOwnerReferences([]metav1.OwnerReference{s.ClusterOwns()})
		return want
	}
	want.SetName(s.InfraName())
	if s.Core != nil {
		want.SetOwnerReferences([]metav1.OwnerReference{pairs.OwnedBy(s.Core, true)})
	}
	return want
}

// WantCore returns the wanted Cluster API object.
func (s Twin) WantCore(converted, infra *unstructured.Unstructured) *unstructured.Unstructured {
	want := s.mirrored(converted, s.Kind.ClusterAPI.String(), s.Kind.Name, s.Pair.ClusterAPI)
	keepPause(want, s.Core)
	want.SetName(s.Name)
	if infra != nil {
		pairs.Put(want, infra.GetName(), s.InfraRef()...)
		s.hold(want, infra)
		s.spare(want)
	}
	want.SetFinalizers([]string{authority.SyncFinalizer})
	want.SetOwnerReferences([]metav1.OwnerReference{s.coreOwner()})
	return want
}

// spare adds an annotation that keeps Cluster API's health checks from the mirror of a Machine that is moving without an instance (authority.Spares).
func (s Twin) spare(want *unstructured.Unstructured) {
	if _, has := want.GetAnnotations()[authority.SparedAnnotation]; !has && authority.Spares(pairs.ObjectOf(s.MachineAPI), s.Shape()) {
		pairs.Put(want, authority.SparedUntilReady, "metadata", "annotations", authority.SparedAnnotation)
	}
}

// coreOwner returns the owner of the Cluster API mirror: the twin of the Machine API object's owner, or the Cluster if there is no such twin. A Cluster API set
// that acts keeps the Machines that the mirror gave to it, even if the Machine API's set is gone. Otherwise, a set that continues would create another Machine,
// and a set that is being deleted would leave this Machine behind.
func (s Twin) coreOwner() metav1.OwnerReference {
	set := s.Parents[authority.ClusterAPI]
	if ref := pairs.ControllerOf(s.MachineAPI); ref != nil && ref.Kind == s.Kind.Parent && !s.ForeignParent() &&
		(pairs.PresenceOf(set) == authority.Present || s.BelongsTo(set)) {
		// A set that is being deleted keeps the Machines that it owns, because at the end of a move it may still be authoritative. A Machine that must not be deleted
		// with the set is detached.
		return pairs.OwnedBy(set, true)
	}
	if s.Propagated() && s.gave(set) {
		return pairs.OwnedBy(set, true)
	}
	return s.ClusterOwns()
}

// gave reports whether the mirror made the set the owner of the Machine. A set that adopted the Machine by its labels may not belong to the pair, and would
// count the Machine as its own.
func (s Twin) gave(set *unstructured.Unstructured) bool {
	return ownership.Owns(s.Core, append(managedfields.Path("metadata", "ownerReferences"), fieldpath.KeyElementByFields("uid", string(set.GetUID()))))
}

// mirrored returns the part that all Cluster API mirrors have in common. It has the mirror's mark, and is paused from the moment it is created.
func (s Twin) mirrored(converted *unstructured.Unstructured, apiVersion, kind, namespace string) *unstructured.Unstructured {
	want := s.bare(converted, apiVersion, kind, namespace)
	annotations := want.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[authority.MirrorAnnotation] = s.Mark()
	annotations[authority.PausedAnnotation] = "true"
	want.SetAnnotations(annotations)
	return want
}

// keepPause leaves the pause annotation of an object that exists as it is. Such an object is only paused in the handoff's name, so that it is known since when
// the object is paused. If the mirror repeated a pause that somebody has removed, or gave it another value, it would become the only owner of the annotation,
// and would seem to have had it since the object was created.
func keepPause(want, is *unstructured.Unstructured) {
	if is == nil {
		return
	}
	annotations := want.GetAnnotations()
	if value, paused := is.GetAnnotations()[authority.PausedAnnotation]; paused {
		annotations[authority.PausedAnnotation] = value
	} else {
		delete(annotations, authority.PausedAnnotation)
	}
	want.SetAnnotations(annotations)
}

// WantMachineAPI returns the wanted Machine API object.
func (s Twin) WantMachineAPI(converted *unstructured.Unstructured) *unstructured.Unstructured {
	want := s.bare(converted, s.Kind.MachineAPI.String(), s.Kind.Name, s.Pair.MachineAPI)
	want.SetName(s.Name)
	want.SetFinalizers([]string{authority.SyncFinalizer})
	s.leave(want)
	s.show(want)
	unstructured.RemoveNestedField(want.Object, "spec", "authoritativeAPI")
	if s.MachineAPI != nil {
		core.KeepSpelling(s.Kind.Name, s.MachineAPI, want, s.Env)
	}
	if s.Infra != nil && s.Kind.InfraActs() {
		pairs.Put(want, fmt.Sprint(s.Infra.GetGeneration()), "metadata", "annotations", authority.InfraGenerationAnnotation)
	}
	if s.Core != nil && s.Core.GetGeneration() < s.Shape().SynchronizedGeneration {
		pairs.Put(want, authority.CoreGeneration(s.Core.GetUID(), s.Core.GetGeneration()), "metadata", "annotations", authority.CoreGenerationAnnotation)
	}
	if s.Kind.ObeysAnnotation { // from the creation on, because the controller may not read status.authoritativeAPI
		pairs.Put(want, authority.PausedByPoundlock, "metadata", "annotations", authority.PausedAnnotation)
	}
	if s.MachineAPI != nil && ownership.Owns(s.MachineAPI, managedfields.Path("spec", "authoritativeAPI")) {
		// This field was set at the creation. An apply without it would remove it, and then the CRD's default would be a request to move.
		pairs.Put(want, pairs.Nested(s.MachineAPI, "spec", "authoritativeAPI"), "spec", "authoritativeAPI")
	}
	s.marksOn(want)
	want.SetOwnerReferences(s.machineAPIOwner())
	return want
}

// machineAPIOwner returns the owner of the Machine API mirror: the twin of the Cluster API object's owner. An owner that is being deleted stays the owner, so
// that the garbage collector deletes the mirror with it.
func (s Twin) machineAPIOwner() []metav1.OwnerReference {
	set := s.Parents[authority.MachineAPI]
	if ref := pairs.ControllerOf(s.Core); ref != nil && ref.Kind == s.Kind.Parent && pairs.PresenceOf(set) == authority.Present {
		return []metav1.OwnerReference{pairs.OwnedBy(set, true)}
	}
	if ref := pairs.ControllerOf(s.MachineAPI); ref != nil && ref.Kind == s.Kind.Parent {
		return []metav1.OwnerReference{*ref}
	}
	return nil
}

// bare returns the content of an apply: identity, labels, annotations and spec of a converted object. It leaves out the labels and annotations that belong to
// only one of the two objects.
func (s Twin) bare(converted *unstructured.Unstructured, apiVersion, kind, namespace string) *unstructured.Unstructured {
	want := &unstructured.Unstructured{Object: map[string]any{}}
	want.SetAPIVersion(apiVersion)
	want.SetKind(kind)
	want.SetNamespace(namespace)
	if labels := converted.GetLabels(); len(labels) > 0 {
		want.SetLabels(labels)
	}
	if annotations := converted.GetAnnotations(); len(annotations) > 0 {
		want.SetAnnotations(annotations)
	}
	LeaveOut(s.Kind, want, s.selects)
	if spec, ok := converted.Object["spec"].(map[string]any); ok {
		want.Object["spec"] = (&unstructured.Unstructured{Object: spec}).DeepCopy().Object
	}
	return want
}

// marksOn keeps the older form of the deletion mark on the Machine API's mirror, with its value, as long as the authoritative object has a mark. When the
// authoritative object loses its mark, an apply removes the mark from the mirror only if the mirror owns it.
func (s Twin) marksOn(want *unstructured.Unstructured) {
	annotations := want.GetAnnotations()
	if _, marked := annotations[machineapi.DeleteAnnotation]; !marked || s.MachineAPI == nil {
		return
	}
	if value, has := s.MachineAPI.GetAnnotations()[machineapi.OldDeleteAnnotation]; has {
		annotations[machineapi.OldDeleteAnnotation] = value
		want.SetAnnotations(annotations)
	}
}
