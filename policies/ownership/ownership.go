// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/internal/jsontree"
	"github.com/poundlock/poundlock/internal/managedfields"
)

// Manager is the field manager of all writes by the mirror, except those of CarriedManager.
const Manager = "poundlock-mirror"

// CarriedManager is the field manager of values that Poundlock has copied from a mirror to the authoritative object. The cluster autoscaler and its operator
// wrote these values to the mirror. Because of this field manager, a user who applies the authoritative object with other replicas gets a conflict.
const CarriedManager = "poundlock-autoscaler"

// HandoffManager is the field manager of all writes by the handoff, except those of FinalizersManager.
const HandoffManager = "poundlock-handoff"

// FinalizersManager is the field manager of the finalizers that the handoff writes. The time of HandoffManager's entry is then the time of the pause.
const FinalizersManager = "poundlock-finalizers"

// lacking returns the paths at which wanted has something that live lacks, or has another value for. What only live has is ignored, because API servers and
// webhooks add defaults. Lists are compared by index, except finalizers and owner references, which are compared as sets.
func lacking(wanted, live *unstructured.Unstructured) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(wanted.Object)) {
		if key == "metadata" || key == "status" {
			continue
		}
		out = append(out, differs(key, jsontree.Comparison{}, wanted.Object[key], live.Object[key])...)
	}
	for _, part := range providerParts(wanted.GroupVersionKind().Group) {
		w, given, _ := unstructured.NestedFieldNoCopy(wanted.Object, part...)
		l, there, _ := unstructured.NestedFieldNoCopy(live.Object, part...)
		if given && there {
			out = append(out, differs(strings.Join(part, "."), jsontree.Comparison{Empty: true}, w, l)...)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	out = append(out, differs("metadata.labels", jsontree.Comparison{}, strings2any(wanted.GetLabels()), strings2any(live.GetLabels()))...)
	out = append(out, differs("metadata.annotations", jsontree.Comparison{}, strings2any(wanted.GetAnnotations()), strings2any(live.GetAnnotations()))...)
	finalizers := sets.New(live.GetFinalizers()...)
	for _, f := range wanted.GetFinalizers() {
		if !finalizers.Has(f) {
			out = append(out, "metadata.finalizers")
		}
	}
	owners := map[types.UID][]metav1.OwnerReference{} // in time that does not grow with the square of their number
	for _, o := range live.GetOwnerReferences() {
		owners[o.UID] = append(owners[o.UID], o)
	}
	for _, o := range wanted.GetOwnerReferences() {
		if !slices.ContainsFunc(owners[o.UID], func(l metav1.OwnerReference) bool { return reflect.DeepEqual(o, l) }) {
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

// providerParts returns the paths of the parts of an object that only the provider reads. There an empty object may mean something that an absent one does not:
// spotMarketOptions: {} is a spot instance. Elsewhere the API servers' Go types do not distinguish the two.
func providerParts(group string) [][]string {
	switch group {
	case clusterv1.GroupVersionInfrastructure.Group:
		return [][]string{{"spec"}}
	case machinev1beta1.GroupName:
		return [][]string{{"spec", "providerSpec", "value"}, {"spec", "template", "spec", "providerSpec", "value"}}
	}
	return nil
}

// differs returns the paths at which live lacks what is wanted: path itself, or paths beneath it.
func differs(path string, by jsontree.Comparison, wanted, live any) []string {
	at := (*jsontree.Path)(nil)
	for name := range strings.SplitSeq(path, ".") {
		at = at.At(name)
	}
	var out []string
	for _, lack := range by.Lacking(at, wanted, live) {
		out = append(out, lack.Path.Unnumbered())
	}
	return slices.Compact(out)
}

// owned returns the fields that an entry of managedFields has. It returns the empty set if they cannot be read.
func owned(o metav1.ManagedFieldsEntry) *fieldpath.Set {
	set, err := managedfields.Read(o)
	if err != nil { // the API server wrote the entry, and nothing follows from one that cannot be read
		return fieldpath.NewSet()
	}
	return set
}

// Ours reports whether an entry of managedFields has what the mirror has applied to the object itself, and not to a subresource.
func Ours(o metav1.ManagedFieldsEntry) bool {
	return o.Manager == Manager && o.Operation == metav1.ManagedFieldsOperationApply && o.Subresource == ""
}

// steps calls visit, in order, for each top-level field that is in the set, or that has parts in the set. visit gets these parts as a set.
func steps(set *fieldpath.Set, visit func(step fieldpath.PathElement, parts *fieldpath.Set)) {
	all := set.Members.Copy()
	set.Children.Iterate(all.Insert)
	all.Iterate(func(step fieldpath.PathElement) { visit(step, set.WithPrefix(step)) })
}

// put adds the parts of a field to a set. It does nothing if there are no parts.
func put(into *fieldpath.Set, step fieldpath.PathElement, parts *fieldpath.Set) {
	if !parts.Empty() {
		*into.Children.Descend(step) = *parts
	}
}

// surplus returns the paths in a set of owned fields that wanted does not have. The mirror may have applied such a field when it was still wanted.
func surplus(path string, set *fieldpath.Set, wanted any) []string {
	var out []string
	find := elements(wanted)
	steps(set, func(step fieldpath.PathElement, parts *fieldpath.Set) {
		child, found := find(step)
		at := strings.TrimPrefix(path+readable(step), ".")
		if !found {
			out = append(out, at)
			return
		}
		out = append(out, surplus(at, parts, child)...)
	})
	return out
}

// readable returns one step of a managed field's path in a form for people: .name for a member, and [k=1] or ["item"] for an item of a list.
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

// elements returns a function that looks up a step of a managed field's path in the value called in, like the function element. Items of a list whose keys are
// texts, and texts of a set, are found by an index, which the first of these steps builds. Without it, the time for a list of many items would grow with the
// square of their number.
func elements(in any) func(fieldpath.PathElement) (any, bool) {
	indexes := map[string]map[string]any{}
	return func(step fieldpath.PathElement) (any, bool) {
		names, texts, ok := textKeys(step)
		if !ok {
			return element(step, in)
		}
		index, built := indexes[strings.Join(names, ",")]
		if !built {
			index = map[string]any{}
			for _, item := range slices.Backward(list(in)) { // of several items with the same keys the first counts
				if text, ok := indexText(names, item); ok {
					index[text] = item
				}
			}
			indexes[strings.Join(names, ",")] = index
		}
		item, found := index[quoted(texts)]
		if len(names) == 0 {
			item = nil
		}
		return item, found
	}
}

// textKeys returns the names and values of a step that has only texts as keys, or the value of a text in a set, with no name. The result is false for any other
// step.
func textKeys(step fieldpath.PathElement) (names, texts []string, ok bool) {
	switch {
	case step.Key != nil:
		for _, key := range *step.Key {
			if !key.Value.IsString() {
				return nil, nil, false
			}
			names, texts = append(names, key.Name), append(texts, key.Value.AsString())
		}
		return names, texts, len(names) > 0
	case step.Value != nil && (*step.Value).IsString():
		return nil, []string{(*step.Value).AsString()}, true
	}
	return nil, nil, false
}

// indexText returns the text by which elements finds an item: the item's members with these names, or the item itself if there are no names. The result is
// false if one of these is no text.
func indexText(names []string, item any) (string, bool) {
	if len(names) == 0 {
		text, is := item.(string)
		return quoted([]string{text}), is
	}
	var texts []string
	for _, name := range names {
		text, is := below(item)[name].(string)
		if !is {
			return "", false
		}
		texts = append(texts, text)
	}
	return quoted(texts), true
}

// quoted joins texts so that different texts never have the same result.
func quoted(texts []string) string {
	var out strings.Builder
	for _, text := range texts {
		out.WriteString(strconv.Quote(text))
	}
	return out.String()
}

// element looks up one step of a managed field's path in the value called in. It returns the value at that step, and whether there is one. The step is a name,
// the keys of a list's item, or an item of a set.
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
	return nil, true // the step is an index, which is not looked up
}

func below(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// Changes returns the paths of live that an apply of wanted would change. These are the paths that live lacks, and those that the mirror applied earlier and no
// longer wants. If the mirror applied in another API version, metadata.managedFields is among the paths: the mirror has to apply again, because the fields may
// have other names in this version. Changes returns nil if an apply would change nothing and so is not needed.
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

// Leftover returns the paths in spec at which an item of a list has more in live than in wanted. API servers treat a list in a provider's object as one value,
// so nobody owns a part of an item. Such a part may be a default, or it may be left over from what was wanted before. Only an apply shows which of the two it
// is.
func Leftover(wanted, live *unstructured.Unstructured) []string {
	var out []string
	beyond("spec", false, wanted.Object["spec"], live.Object["spec"], &out)
	slices.Sort(out)
	return slices.Compact(out)
}

// Added returns the paths in spec that managers other than the given manager have added to live, and that wanted does not have. These are fields that such a
// manager owns, and parts of list items that it owns. A default that the API server fills in belongs to the manager whose request it completes.
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
	has, wants := elements(live), elements(wanted)
	steps(set, func(step fieldpath.PathElement, parts *fieldpath.Set) {
		at := path + readable(step)
		is, there := has(step)
		want, given := wants(step)
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

// otherVersion reports whether an entry was written in another API version than the one in which live was read. For a reader an API server converts the object
// to the version that is asked for, but it leaves the entry in the version of the writer.
func otherVersion(e metav1.ManagedFieldsEntry, live *unstructured.Unstructured) bool {
	return e.APIVersion != live.GetAPIVersion()
}

// Takeover returns the managed fields that live, a mirror, should get. They make the mirror the owner of fields that others own now, and that keep live from
// becoming equal to wanted. Others own these fields from an earlier time in which live was authoritative and people wrote to it. Takeover returns nil if there
// is nothing to take over. The mirror takes over these fields:
//
//   - In spec, everything that wanted does not have, except the paths in keep. Only an apply by the owner of a field removes the field.
//   - Labels and annotations that wanted has too, and that somebody else set by an update. Otherwise they would stay on live when they are removed from the
//     authoritative object. The labels and annotations of an applier are left alone, because an applier keeps applying. The pause annotation stays with the
//     handoff, which removes it itself.
//   - The annotations that Poundlock copied to live while live was authoritative (CarriedManager), and the annotations named in annotations, even if wanted
//     does not have them. A mirror has these only if the authoritative object has them. The autoscaler may have removed its annotation from the other object
//     right before that object became authoritative.
//   - The owners that the mirror gave to live while live was authoritative (restoreOwner). Otherwise they, too, would stay on live after their removal.
//   - What the mirror set when it created the object. The API server records a creation as an update, and Takeover treats it as an apply. made reports that
//     live is the API server's answer to that creation. Then the fields that live has and wanted lacks are defaults of the API server, and nobody is to own
//     them.
//
// If an entry is in another version, only fields are taken over that live has under the same name. A field that has another name in this version stays with its
// owner.
func Takeover(wanted, live *unstructured.Unstructured, made bool, annotations []string, keep ...string) []metav1.ManagedFieldsEntry {
	entries := slices.Clone(live.GetManagedFields())
	gained := fieldpath.NewSet()
	if slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return Ours(e) && otherVersion(e, live) }) {
		return nil // the mirror's entry cannot hold paths of this version, and the mirror's next apply writes the entry anew (Changes)
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
	// annotationsStep is a step beneath metadata, like ownersStep.
	annotationsStep = fieldpath.FieldNameElement("annotations")
	// asksFor is the path spec.authoritativeAPI. Once this field of a Machine API object is set, it belongs to people, even if Poundlock set it first.
	asksFor = fieldpath.NewSet(managedfields.Path("spec", "authoritativeAPI"))
)

// created reports whether an entry records that the mirror created the object. Such an entry has fields in spec, because the mirror sets none by an update.
func created(e metav1.ManagedFieldsEntry, set *fieldpath.Set) bool {
	return e.Manager == Manager && e.Operation == metav1.ManagedFieldsOperationUpdate && !set.Difference(asksFor).WithPrefix(specStep).Empty()
}

// inherit divides the fields that the mirror set when it created an object. taken are the fields that the mirror is to own by its apply. left are the fields
// that stay in the entry of the creation, which is only spec.authoritativeAPI. If made is true (see Takeover), taken has only fields that wanted has, and
// nobody is to own the others. If made is false, the object was created earlier, and taken has all fields except spec.authoritativeAPI. The reason is that a
// field that wanted lacks may then be a default, or one that the authoritative object has lost since.
func inherit(set *fieldpath.Set, wanted *unstructured.Unstructured, made bool) (left, taken *fieldpath.Set) {
	left, taken = set.Intersection(asksFor), set.Difference(asksFor)
	if made {
		taken = covered(taken, wanted.Object)
	}
	return left, taken
}

// covered returns those fields of a set that wanted has too. They include the fact that a map or an item exists.
func covered(set *fieldpath.Set, wanted any) *fieldpath.Set {
	out, find := fieldpath.NewSet(), elements(wanted)
	steps(set, func(step fieldpath.PathElement, parts *fieldpath.Set) {
		child, found := find(step)
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

// uncovered returns those fields of a set that wanted does not have, each with all its parts. It leaves out the paths in keep.
func uncovered(set *fieldpath.Set, wanted any, path string, keep []string) *fieldpath.Set {
	out, find := fieldpath.NewSet(), elements(wanted)
	steps(set, func(step fieldpath.PathElement, parts *fieldpath.Set) {
		at := path + readable(step)
		if slices.Contains(keep, at) {
			return
		}
		child, found := find(step)
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

// named returns a map that has the names as keys, and nil as each value.
func named(names []string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		out[name] = nil
	}
	return out
}

// toTake returns those fields of an entry that Takeover gives to the mirror. set has all fields of the entry.
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
	if e.Manager == HandoffManager { // only the handoff's own entry shows since when the object has been paused
		taken = taken.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("annotations", clusterv1.PausedAnnotation)))
	}
	put(out, metadataStep, taken)
	return out
}

// Yield returns the managed fields that live, an authoritative object, should get: without the mirror as an owner of fields that others own too. The mirror
// owns such fields from an earlier time in which live was the mirror. If it kept them, an applier of the object would get a conflict with the mirror, and could
// not remove a field by leaving it out. Fields that only the mirror owns stay with the mirror: when the object is the mirror again, they need an owner whose
// apply removes them. Yield returns nil if nothing changes.
func Yield(live *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries := slices.Clone(live.GetManagedFields())
	mine := slices.IndexFunc(entries, Ours)
	if mine < 0 {
		return nil
	}
	others := fieldpath.NewSet()
	for _, e := range entries {
		// A path in an entry of another version counts as the same field if it has the same names.
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

// latest returns the time of the last write to the object, as its managed fields show. It returns nil if they show none.
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
		return metav1.NewFieldsV1("{}") // never reached, because a set that was read can be written
	}
	return out
}

// Owns reports whether the mirror owns a field of live, or a part of that field, because the mirror has applied it.
func Owns(live *unstructured.Unstructured, path fieldpath.Path) bool {
	for _, e := range live.GetManagedFields() {
		if Ours(e) {
			return Holds(e, path)
		}
	}
	return false
}

// OwnedBelow returns the names of the fields directly beneath a path that the mirror owns, wholly or in part. For many fields it is much faster than Owns,
// which reads the managed fields for each of them. The object may be nil.
func OwnedBelow(live *unstructured.Unstructured, path fieldpath.Path) sets.Set[string] {
	if live == nil {
		return nil
	}
	for _, e := range live.GetManagedFields() {
		if Ours(e) {
			return sets.New(Names(e, path)...)
		}
	}
	return nil
}

// Claimed reports whether the mirror has applied to live at any time, as the managed fields show.
func Claimed(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), Ours)
}

// Managers returns the names of the managers that own a field or a part of it, by requests to the object or to any subresource.
func Managers(o *unstructured.Unstructured, path fieldpath.Path) []string {
	var out []string
	for _, e := range o.GetManagedFields() {
		if Holds(e, path) {
			out = append(out, e.Manager)
		}
	}
	return out
}

// Holds reports whether an entry of managedFields has a field, or a part of it.
func Holds(e metav1.ManagedFieldsEntry, path fieldpath.Path) bool {
	return managedfields.EntryHolds(e, path)
}

// Names returns the names of the fields that an entry of managedFields has directly beneath the field at path.
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

// Has reports whether live has everything that wanted has. What only live has counts as a default, and does not matter.
func Has(live, wanted any) bool { return jsontree.Has(wanted, live) }
