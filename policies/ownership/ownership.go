// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/internal/jsontree"
	"github.com/poundlock/poundlock/internal/managedfields"
)

// Manager is the field manager of every write of the mirror's.
const Manager = "poundlock-mirror"

// CarriedManager is the field manager, on an authoritative object, of what the cluster autoscaler and its operator wrote to its mirror. A user who applies that
// object with replicas of their own gets a conflict.
const CarriedManager = "poundlock-autoscaler"

// HandoffManager is the field manager of every write of the handoff's.
const HandoffManager = "poundlock-handoff"

// lacking lists the paths at which live differs from wanted. It ignores what live has beyond that:
// API servers and webhooks add defaults. Lists are compared by index, finalizers and owner references as sets.
func lacking(wanted, live *unstructured.Unstructured) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(wanted.Object)) {
		if key == "metadata" || key == "status" {
			continue
		}
		out = append(out, differs(key, wanted.Object[key], live.Object[key])...)
	}
	out = append(out, differs("metadata.labels", strings2any(wanted.GetLabels()), strings2any(live.GetLabels()))...)
	out = append(out, differs("metadata.annotations", strings2any(wanted.GetAnnotations()), strings2any(live.GetAnnotations()))...)
	for _, f := range wanted.GetFinalizers() {
		if !slices.Contains(live.GetFinalizers(), f) {
			out = append(out, "metadata.finalizers")
		}
	}
	for _, o := range wanted.GetOwnerReferences() {
		if !slices.ContainsFunc(live.GetOwnerReferences(), func(l metav1.OwnerReference) bool { return reflect.DeepEqual(o, l) }) {
			out = append(out, "metadata.ownerReferences")
		}
	}
	return out
}

func strings2any(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// differs lists the paths beneath one at which live lacks what is wanted.
func differs(path string, wanted, live any) []string {
	at := (*jsontree.Path)(nil)
	for name := range strings.SplitSeq(path, ".") {
		at = at.At(name)
	}
	var out []string
	for _, lack := range (jsontree.Comparison{}).Lacking(at, wanted, live) {
		out = append(out, lack.Path.Unnumbered())
	}
	return slices.Compact(out)
}

// owned reads a manager's fields of the object itself, not of its subresources.
func owned(o metav1.ManagedFieldsEntry) *fieldpath.Set {
	set, err := managedfields.Read(o)
	if err != nil { // The API server wrote it; of what cannot be read nothing is concluded.
		return fieldpath.NewSet()
	}
	return set
}

// Ours reports whether an entry is of the mirror's applies.
func Ours(o metav1.ManagedFieldsEntry) bool {
	return o.Manager == Manager && o.Operation == metav1.ManagedFieldsOperationApply && o.Subresource == ""
}

// steps calls visit for each field that a set has or has parts of, in their order.
func steps(set *fieldpath.Set, visit func(step fieldpath.PathElement, parts *fieldpath.Set)) {
	all := set.Members.Copy()
	set.Children.Iterate(all.Insert)
	all.Iterate(func(step fieldpath.PathElement) { visit(step, set.WithPrefix(step)) })
}

// put adds the parts of a field to a set.
func put(into *fieldpath.Set, step fieldpath.PathElement, parts *fieldpath.Set) {
	if !parts.Empty() {
		*into.Children.Descend(step) = *parts
	}
}

// surplus lists the owned paths that wanted does not have (any more).
func surplus(path string, set *fieldpath.Set, wanted any) []string {
	var out []string
	steps(set, func(step fieldpath.PathElement, parts *fieldpath.Set) {
		child, found := element(step, wanted)
		at := strings.TrimPrefix(path+readable(step), ".")
		if !found {
			out = append(out, at)
			return
		}
		out = append(out, surplus(at, parts, child)...)
	})
	return out
}

// readable is one step of a managed field's path as people write it: .name, or [k=1] and ["item"] of a list.
func readable(step fieldpath.PathElement) string {
	switch {
	case step.Key != nil:
		var parts []string
		for _, key := range *step.Key {
			parts = append(parts, fmt.Sprintf("%s=%v", key.Name, key.Value.Unstructured()))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case step.Value != nil:
		return "[" + value.ToString(*step.Value) + "]"
	}
	return step.String()
}

// element follows one step of a managed field's path: a name, the keys of a list's item, an item of a set.
func element(step fieldpath.PathElement, in any) (any, bool) {
	switch {
	case step.FieldName != nil:
		m, _ := in.(map[string]any)
		v, ok := m[*step.FieldName]
		return v, ok
	case step.Key != nil:
		for _, item := range list(in) {
			if !slices.ContainsFunc(*step.Key, func(key value.Field) bool { return !Has(below(item)[key.Name], key.Value.Unstructured()) }) {
				return item, true
			}
		}
		return nil, false
	case step.Value != nil:
		return nil, slices.ContainsFunc(list(in), func(item any) bool { return jsonnumbers.Equal(item, (*step.Value).Unstructured()) })
	}
	return nil, true // an index
}

func below(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// Changes lists the paths of live that an apply of wanted would change: what it lacks, and what the mirror applied
// earlier and wants no more. What it applied in another version has to be applied again: paths of that version may have other names in this one. nil:
// nothing, and the mirror has applied it before or need not.
func Changes(wanted, live *unstructured.Unstructured) []string {
	out := lacking(wanted, live)
	for _, e := range live.GetManagedFields() {
		switch {
		case !Ours(e):
		case otherVersion(e, live):
			out = append(out, "metadata.managedFields")
		default:
			out = append(out, surplus("", owned(e), wanted.Object)...)
		}
	}
	return out
}

// Leftover lists what items of lists in spec have beyond what is wanted. API servers treat lists of providers as a whole, so that nobody owns a part of an
// item: it may be a default, or be left from what was wanted before. An apply shows which.
func Leftover(wanted, live *unstructured.Unstructured) []string {
	var out []string
	beyond("spec", false, wanted.Object["spec"], live.Object["spec"], &out)
	slices.Sort(out)
	return slices.Compact(out)
}

// Added lists what others than a manager have added to a spec, beyond what is wanted: fields of theirs, and what items have more in lists of theirs. A
// default of the API server belongs to the manager whose request it completes.
func Added(manager string, wanted, live *unstructured.Unstructured) []string {
	var out []string
	for _, e := range live.GetManagedFields() {
		if e.Manager != manager && e.Subresource == "" && !otherVersion(e, live) {
			added("spec", owned(e).WithPrefix(specStep), wanted.Object["spec"], live.Object["spec"], &out)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func added(path string, set *fieldpath.Set, wanted, live any, out *[]string) {
	steps(set, func(step fieldpath.PathElement, parts *fieldpath.Set) {
		at := path + readable(step)
		is, there := element(step, live)
		want, given := element(step, wanted)
		switch _, isList := is.([]any); {
		case !there:
		case !given:
			*out = append(*out, at)
		case isList && parts.Empty():
			beyond(at, false, want, is, out)
		default:
			added(at, parts, want, is, out)
		}
	})
}

func beyond(path string, inItem bool, wanted, live any, out *[]string) {
	switch l := live.(type) {
	case map[string]any:
		w, _ := wanted.(map[string]any)
		for name, v := range l {
			if value, has := w[name]; has {
				beyond(path+"."+name, inItem, value, v, out)
			} else if inItem && !empty(v) {
				*out = append(*out, path+"."+name)
			}
		}
	case []any:
		w, _ := wanted.([]any)
		if len(w) != len(l) {
			return
		}
		for i := range l {
			beyond(path+"[]", true, w[i], l[i], out)
		}
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// otherVersion reports whether an entry was written in another version than the object was read in. An API server keeps the entry as it is, and converts the
// object.
func otherVersion(e metav1.ManagedFieldsEntry, live *unstructured.Unstructured) bool {
	return e.APIVersion != live.GetAPIVersion()
}

// Takeover returns the managed fields of live after what others own has become the mirror's where it stands in the way
// of equality: the rest of an earlier time in which the mirror was authoritative and people wrote to it. nil: nothing does.
//
//   - In spec, whatever wanted does not have: only an owner's apply removes a field.
//   - Labels and annotations that wanted has too and somebody else set by an update: else they would outlive their
//     removal from the authority. An applier keeps applying, so an applier's are left alone.
//     The pause stays the handoff's, too, which takes it off by itself.
//   - The annotations that Poundlock carried over while live was authoritative, and those named, also where wanted does not have them. A mirror has them only
//     as the authoritative object does, and the autoscaler may have removed its mark from the other object right before that became authoritative.
//   - The owners that the mirror gave to the object while it was authoritative (restoreOwner): else they would outlive their removal, too.
//   - What the mirror's creation of the object set, which is an update, as if it had been an apply. made means that live is the API server's answer to
//     that very creation: what it has beyond wanted are the server's own defaults, and nobody's.
//
// Of an entry in another version that counts which live has under the same name. A field that has another name there stays with its owner.
func Takeover(wanted, live *unstructured.Unstructured, made bool, annotations []string, keep ...string) []metav1.ManagedFieldsEntry {
	entries := slices.Clone(live.GetManagedFields())
	gained := fieldpath.NewSet()
	if slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return Ours(e) && otherVersion(e, live) }) {
		return nil // it could not hold paths of this version, and the next apply writes it anew (Changes)
	}
	for i, e := range entries {
		if Ours(e) || e.Subresource != "" {
			continue
		}
		set, renamed := owned(e), fieldpath.NewSet()
		if otherVersion(e, live) {
			here := covered(set, live.Object)
			set, renamed = here, set.Difference(here)
		}
		var left, taken *fieldpath.Set
		if created(e, set) {
			left, taken = inherit(set, wanted, made)
		} else {
			taken = toTake(set, e, wanted, annotations, keep)
			left = set.Difference(taken)
		}
		if taken.Empty() {
			continue
		}
		gained = gained.Union(taken)
		entries[i].FieldsV1 = fields(left.Union(renamed))
	}
	if gained.Empty() {
		return nil
	}
	return giveTo(slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return owned(e).Empty() && e.Subresource == "" }), live, gained)
}

var (
	specStep     = fieldpath.FieldNameElement("spec")
	metadataStep = fieldpath.FieldNameElement("metadata")
	ownersStep   = fieldpath.FieldNameElement("ownerReferences")
	// annotationsStep is beneath metadata.
	annotationsStep = fieldpath.FieldNameElement("annotations")
	// asksFor is the field of a Machine API object that belongs to people once it is set, also where Poundlock set it first.
	asksFor = fieldpath.NewSet(managedfields.Path("spec", "authoritativeAPI"))
)

// created reports whether an entry is of the mirror's creation of the object: no update of its sets a spec.
func created(e metav1.ManagedFieldsEntry, set *fieldpath.Set) bool {
	return e.Manager == Manager && e.Operation == metav1.ManagedFieldsOperationUpdate && !set.Difference(asksFor).WithPrefix(specStep).Empty()
}

// inherit divides what a creation set: what an apply would own, and what is left of the creation's. Of the answer to the creation itself that is what
// wanted has. Of an older one it is all: a field that wanted lacks may be a default, or one that the authority has dropped since.
func inherit(set *fieldpath.Set, wanted *unstructured.Unstructured, made bool) (left, taken *fieldpath.Set) {
	left, taken = set.Intersection(asksFor), set.Difference(asksFor)
	if made {
		taken = covered(taken, wanted.Object)
	}
	return left, taken
}

// covered are the fields of a set that wanted has. That a map or an item is there at all goes with it.
func covered(set *fieldpath.Set, wanted any) *fieldpath.Set {
	out := fieldpath.NewSet()
	steps(set, func(step fieldpath.PathElement, parts *fieldpath.Set) {
		child, found := element(step, wanted)
		if !found {
			return
		}
		if set.Members.Has(step) {
			out.Members.Insert(step)
		}
		put(out, step, covered(parts, child))
	})
	return out
}

// uncovered are the fields of a set that wanted does not have, each with all of its parts.
func uncovered(set *fieldpath.Set, wanted any, path string, keep []string) *fieldpath.Set {
	out := fieldpath.NewSet()
	steps(set, func(step fieldpath.PathElement, parts *fieldpath.Set) {
		at := path + readable(step)
		if slices.Contains(keep, at) {
			return
		}
		child, found := element(step, wanted)
		if found {
			put(out, step, uncovered(parts, child, at, keep))
			return
		}
		if set.Members.Has(step) {
			out.Members.Insert(step)
		}
		put(out, step, parts)
	})
	return out
}

// named is a map with these names.
func named(names []string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		out[name] = nil
	}
	return out
}

// toTake are the fields of an entry that Takeover moves.
func toTake(set *fieldpath.Set, e metav1.ManagedFieldsEntry, wanted *unstructured.Unstructured, annotations, keep []string) *fieldpath.Set {
	out := fieldpath.NewSet()
	put(out, specStep, uncovered(set.WithPrefix(specStep), wanted.Object["spec"], "spec", keep))
	if e.Operation != metav1.ManagedFieldsOperationUpdate {
		return out
	}
	metadata, taken := set.WithPrefix(metadataStep), fieldpath.NewSet()
	if given, has := metadata.Children.Get(ownersStep); has && e.Manager == Manager {
		put(taken, ownersStep, covered(given, below(wanted.Object["metadata"])["ownerReferences"]))
		if metadata.Members.Has(ownersStep) {
			taken.Members.Insert(ownersStep)
		}
	}
	for field, names := range map[string]map[string]string{"labels": wanted.GetLabels(), "annotations": wanted.GetAnnotations()} {
		step := fieldpath.FieldNameElement(field)
		put(taken, step, covered(metadata.WithPrefix(step), strings2any(names)))
	}
	carried := metadata.WithPrefix(annotationsStep)
	if e.Manager != CarriedManager {
		carried = covered(carried, named(annotations))
	}
	put(taken, annotationsStep, carried.Union(taken.WithPrefix(annotationsStep)))
	if e.Manager == HandoffManager { // since when the object is paused, its entry alone shows
		taken = taken.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("annotations", clusterv1.PausedAnnotation)))
	}
	put(out, metadataStep, taken)
	return out
}

// Yield returns the managed fields of the authoritative object without the mirror's share in what others own too: the rest of
// an earlier time in which it was the mirror. Else an applier of the object would get a conflict with the mirror,
// and could not remove a field by leaving it out. What the mirror alone owns stays: it must have an owner to be removed
// by when the object is the mirror again. nil: there is nothing to yield.
func Yield(live *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries := slices.Clone(live.GetManagedFields())
	mine := slices.IndexFunc(entries, Ours)
	if mine < 0 {
		return nil
	}
	others := fieldpath.NewSet()
	for _, e := range entries {
		// Of an entry in another version the paths with the same names are the same fields.
		if !Ours(e) && e.Subresource == "" && e.Manager != Manager {
			others = others.Union(owned(e))
		}
	}
	set := owned(entries[mine])
	left := set.Difference(others)
	if left.Size() == set.Size() {
		return nil
	}
	entries[mine].FieldsV1 = fields(left)
	if left.Empty() {
		entries = slices.Delete(entries, mine, mine+1)
	}
	return entries
}

func giveTo(entries []metav1.ManagedFieldsEntry, live *unstructured.Unstructured, gained *fieldpath.Set) []metav1.ManagedFieldsEntry {
	for i, e := range entries {
		if Ours(e) {
			entries[i].FieldsV1 = fields(owned(e).Union(gained))
			return entries
		}
	}
	return append(entries, metav1.ManagedFieldsEntry{
		Manager: Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: live.GetAPIVersion(), Time: latest(live),
		FieldsType: "FieldsV1", FieldsV1: fields(gained),
	})
}

// latest is when the object was last written to, as far as its managed fields show.
func latest(live *unstructured.Unstructured) (at *metav1.Time) {
	for _, e := range live.GetManagedFields() {
		if e.Time != nil && (at == nil || at.Before(e.Time)) {
			at = e.Time
		}
	}
	return at
}

func fields(set *fieldpath.Set) *metav1.FieldsV1 {
	out, err := managedfields.Write(set)
	if err != nil {
		return metav1.NewFieldsV1("{}") // what was read can be written
	}
	return out
}

// Owns reports whether the mirror's applies own a field, or a part of it.
func Owns(live *unstructured.Unstructured, path fieldpath.Path) bool {
	for _, e := range live.GetManagedFields() {
		if Ours(e) {
			return Holds(e, path)
		}
	}
	return false
}

// Claimed reports whether the mirror has applied to an object.
func Claimed(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), Ours)
}

// Managers lists the managers of a field, through whatever subresource.
func Managers(o *unstructured.Unstructured, path fieldpath.Path) []string {
	var out []string
	for _, e := range o.GetManagedFields() {
		if Holds(e, path) {
			out = append(out, e.Manager)
		}
	}
	return out
}

// Holds reports whether an entry has a field, or a part of it.
func Holds(e metav1.ManagedFieldsEntry, path fieldpath.Path) bool {
	return managedfields.EntryHolds(e, path)
}

// Names are the names of the fields that an entry has directly beneath another.
func Names(e metav1.ManagedFieldsEntry, path fieldpath.Path) []string {
	set := owned(e)
	for _, step := range path {
		set = set.WithPrefix(step)
	}
	var out []string
	steps(set, func(step fieldpath.PathElement, _ *fieldpath.Set) {
		if step.FieldName != nil {
			out = append(out, *step.FieldName)
		}
	})
	return out
}

// Has reports whether live has what is wanted. What it has beyond that is a default.
func Has(live, wanted any) bool { return jsontree.Has(wanted, live) }
