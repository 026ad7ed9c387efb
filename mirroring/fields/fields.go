// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// asked are the fields of a Machine API object in which users request which API is to be authoritative, for the object itself and for the new Machines of a
// set. They are requests, and no content to mirror.
var asked = []string{"spec.authoritativeAPI", "spec.template.spec.authoritativeAPI"}

// Become returns the write that brings live closer to want, nil if both are equal. The write creates the object, or first changes the owners of fields if that
// is needed, or applies want.
func Become(s *pairs.State, want, live *unstructured.Unstructured) *pairs.Write {
	if live == nil {
		return &pairs.Write{Verb: pairs.Create, Object: want, Reason: "MirrorCreated", Note: "created " + pairs.Describe(want) + " to mirror " + s.DescribeSource()}
	}
	want, conceded := concede(s, want, live)
	if managed := ownership.Takeover(want, live, s.Made == live.GetUID(), carried(s, want), append(conceded, asked...)...); managed != nil {
		return &pairs.Write{Verb: pairs.Patch, Object: live, Patch: pairs.MetadataPatch(map[string]any{"managedFields": managed}),
			Reason: "FieldsTakenOver"}
	}
	changed := ownership.Changes(want, live)
	if len(changed) == 0 {
		changed = unclaimed(s, want, live)
	}
	if len(changed) == 0 {
		changed = unseen(s, want, live)
	}
	if len(changed) == 0 {
		return nil
	}
	want = want.DeepCopy()
	want.SetResourceVersion(live.GetResourceVersion())
	want.SetUID(live.GetUID()) // without the UID, an apply recreates an object that was deleted in the meantime
	return &pairs.Write{Verb: pairs.Apply, Object: want, Reason: "MirrorUpdated", Fields: changed,
		Note: fmt.Sprintf("made %s equal to %s: %s", pairs.Describe(live), s.DescribeSource(), pairs.Brief(changed))}
}

// carried returns the annotations that feedback.Followed copies from the mirror to the authoritative object before Become runs. If the mirror still has such an
// annotation after that, the annotation has no effect.
func carried(s *pairs.State, want *unstructured.Unstructured) []string {
	var out []string
	for _, g := range authority.Annotated(s.MirrorSide()) {
		if g.Manager != "" && slices.Contains(g.Kinds, s.Kind.Name) && want.GetKind() == s.Kind.Name {
			out = append(out, g.Fields...)
		}
	}
	return out
}

// unseen returns what the items of live's lists have in addition to what is wanted. If the API server has already accepted exactly this apply, the additions
// are the API server's defaults, and unseen returns nil.
func unseen(s *pairs.State, want, live *unstructured.Unstructured) []string {
	left := ownership.Leftover(want, live)
	if len(left) > 0 && s.Answered != nil && s.Answered(want) {
		return nil
	}
	return left
}

// unclaimed returns fields of a mirror that already equal those of the authoritative object, but that the mirror must also own. Some are fields that
// authority.Grants lets others write. Those writers may have set them while the mirror was authoritative, and later only their new writes may count (since). If
// the managed fields have been cleared, the mirror must own all of its fields again: a field without an owner would stay when the authoritative object drops
// it.
func unclaimed(s *pairs.State, want, live *unstructured.Unstructured) []string {
	if !ownership.Claimed(live) &&
		(s.IsMirror(live) || !slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "" })) {
		return []string{"metadata.managedFields"}
	}
	if want.GetKind() != s.Kind.Name {
		return nil
	}
	if _, wanted := pairs.Replicas(want); wanted && s.Kind.Scales && !ownership.Owns(live, managedfields.Path("spec", "replicas")) {
		return []string{"spec.replicas"}
	}
	for _, g := range authority.Annotated(s.MirrorSide()) {
		for _, key := range g.Fields {
			_, wanted := want.GetAnnotations()[key]
			if wanted && g.Manager != "" && slices.Contains(g.Kinds, s.Kind.Name) && !ownership.Owns(live, managedfields.Path("metadata", "annotations", key)) {
				return []string{"metadata.annotations." + key}
			}
		}
	}
	return nil
}

// Yielded returns the write by which the mirror gives up those fields of an authoritative object that others own, too; nil if there are none.
func Yielded(o *unstructured.Unstructured) *pairs.Write {
	if o == nil {
		return nil
	}
	managed := ownership.Yield(o)
	if managed == nil {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: o, Patch: pairs.MetadataPatch(map[string]any{"managedFields": managed}),
		Reason: "FieldsYielded"}
}

// Unrecorded returns the write that removes two annotations from a Machine API object. They record from which generations of Cluster API's objects it was made
// while it was a mirror. Once the Machine API is authoritative, nobody reads them, and a user who keeps the object's manifest would find annotations that are
// not in it.
func Unrecorded(s *pairs.State) *pairs.Write {
	if pairs.ShapeOf(s.MachineAPI).Current != authority.MachineAPI {
		return nil
	}
	gone := map[string]any{}
	for _, record := range []string{authority.InfraGenerationAnnotation, authority.CoreGenerationAnnotation} {
		if _, there := s.MachineAPI.GetAnnotations()[record]; there {
			gone[record] = nil
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.MachineAPI, Patch: pairs.MetadataPatch(map[string]any{"annotations": gone}), Reason: "FieldsYielded"}
}

// copyManager is the field manager of what Copies writes. An update of spec under the mirror's own field manager would look as if the mirror had created the
// object (created).
const copyManager = "poundlock-copy"

// Copies returns the write of one field of spec that has the same form in both APIs. It copies the field to the Machine API's mirror if the authoritative
// object has another value.
func Copies(s *pairs.State, name string) *pairs.Write {
	path := []string{"spec", name}
	value := pairs.ValueAt(s.Core, path)
	if value == nil || name == "replicas" && !s.Kind.Scales || ownership.Has(pairs.ValueAt(s.MachineAPI, path), value) {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, By: copyManager, Object: s.MachineAPI,
		Patch: map[string]any{"spec": map[string]any{name: value}}, Reason: "MirrorUpdated", Fields: []string{"spec." + name},
		Note: fmt.Sprintf("made spec.%s of %s equal to %s, which cannot be mirrored as a whole", name, pairs.Describe(s.MachineAPI), s.DescribeSource())}
}

// propagators are the field managers under which a MachineSet of Cluster API applies to its Machines, and to their infrastructure machines.
var propagators = []string{"capi-machineset", "capi-machineset-metadata"}

// concede returns want without the labels, annotations and fields for which an authoritative Cluster API MachineSet has a value of its own. The set writes
// these to its Machines in place, even to paused ones (authority/propagation), and otherwise the mirror and the set would undo each other's writes for ever.
// keep are the paths of spec that are left to the set even if nothing is wanted there. Once the set is no longer authoritative, nothing is conceded, and the
// mirror takes all of these back.
func concede(s *pairs.State, want, live *unstructured.Unstructured) (conceded *unstructured.Unstructured, keep []string) {
	if !s.Propagated() {
		return want, nil
	}
	want = want.DeepCopy()
	for _, path := range propagatedPaths(live) {
		if wanted, has := pairs.ValueAt(want, path), pairs.ValueAt(live, path); wanted != nil && has != nil && !ownership.Has(has, wanted) {
			unstructured.RemoveNestedField(want.Object, path...)
		}
	}
	return want, authority.PropagatedFields()
}

// propagatedPaths returns the paths of the fields of a Machine that a MachineSet has propagated: labels, annotations, and some of spec.
func propagatedPaths(live *unstructured.Unstructured) [][]string {
	var out [][]string
	for _, e := range live.GetManagedFields() {
		if !slices.Contains(propagators, e.Manager) || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" {
			continue
		}
		for _, names := range []string{"labels", "annotations"} {
			for _, name := range ownership.Names(e, managedfields.Path("metadata", names)) {
				out = append(out, []string{"metadata", names, name})
			}
		}
		for _, field := range authority.PropagatedFields() {
			if path := strings.Split(field, "."); ownership.Holds(e, managedfields.Path(path...)) {
				out = append(out, path)
			}
		}
	}
	return out
}
