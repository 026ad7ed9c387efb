// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// Manager is the field manager of every write of the mirror's.
const Manager = "poundlock-mirror"

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

func differs(path string, wanted, live any) []string {
	switch w := wanted.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok && len(w) > 0 {
			return []string{path}
		}
		var out []string
		for _, k := range slices.Sorted(maps.Keys(w)) {
			out = append(out, differs(path+"."+k, w[k], l[k])...)
		}
		return out
	case []any:
		l, _ := live.([]any)
		if len(l) != len(w) {
			return []string{path}
		}
		var out []string
		for i := range w {
			out = append(out, differs(path+"[]", w[i], l[i])...)
		}
		return slices.Compact(out)
	}
	if !jsonnumbers.Equal(wanted, live) {
		return []string{path}
	}
	return nil
}

// ownership is a tree of the fields that a manager owns, as metadata.managedFields spells it.
type ownership = map[string]any

// owned reads a manager's fields of the object itself, not of its subresources.
func owned(o metav1.ManagedFieldsEntry) ownership {
	tree := ownership{}
	if o.FieldsV1 != nil {
		// The API server wrote it; of what cannot be read nothing is concluded.
		_ = json.Unmarshal(o.FieldsV1.GetRawBytes(), &tree)
	}
	return tree
}

// Ours reports whether an entry is of the mirror's applies.
func Ours(o metav1.ManagedFieldsEntry) bool {
	return o.Manager == Manager && o.Operation == metav1.ManagedFieldsOperationApply && o.Subresource == ""
}

// surplus lists the owned paths that wanted does not say (any more).
func surplus(path string, tree ownership, wanted any) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		if key == "." {
			continue
		}
		child, found := element(key, wanted)
		at := strings.TrimPrefix(path+readable(key), ".")
		if !found {
			out = append(out, at)
			continue
		}
		if sub, ok := tree[key].(map[string]any); ok {
			out = append(out, surplus(at, sub, child)...)
		}
	}
	return out
}

// readable is one step of a managed field's path as people write it: .name, or [k=1] and ["item"] of a list.
func readable(step string) string {
	kind, arg, _ := strings.Cut(step, ":")
	switch kind {
	case "f":
		return "." + arg
	case "k":
		var keys map[string]any
		if json.Unmarshal([]byte(arg), &keys) == nil {
			var parts []string
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				parts = append(parts, fmt.Sprintf("%s=%v", key, keys[key]))
			}
			arg = strings.Join(parts, ",")
		}
	}
	return "[" + arg + "]"
}

// element follows one step of a managed field's path: f:name, k:{keys of a list item}, v:item of a set.
func element(step string, in any) (any, bool) {
	kind, arg, _ := strings.Cut(step, ":")
	switch kind {
	case "f":
		m, _ := in.(map[string]any)
		v, ok := m[arg]
		return v, ok
	case "k":
		var keys map[string]any
		if json.Unmarshal([]byte(arg), &keys) != nil {
			return nil, true
		}
		for _, item := range list(in) {
			if len(differs("", keys, item)) == 0 {
				return item, true
			}
		}
		return nil, false
	case "v":
		var value any
		if json.Unmarshal([]byte(arg), &value) != nil {
			return nil, true
		}
		return nil, slices.ContainsFunc(list(in), func(item any) bool { return jsonnumbers.Equal(item, value) })
	}
	return nil, true // i:index and what is yet to come
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

// otherVersion reports whether an entry was written in another version than the object was read in. An API server keeps the entry as it is, and converts the
// object.
func otherVersion(e metav1.ManagedFieldsEntry, live *unstructured.Unstructured) bool {
	return e.APIVersion != live.GetAPIVersion()
}

// Takeover returns the managed fields of live after what others own has become the mirror's where it stands in the way
// of equality: the rest of an earlier time in which the mirror was authoritative and people wrote to it. nil: nothing does.
//
//   - In spec, whatever wanted does not say: only an owner's apply removes a field.
//   - Labels and annotations that wanted has too and somebody else set by an update: else they would outlive their
//     removal from the authority. An applier keeps applying, so an applier's are left alone.
//   - The owners that the mirror gave to the object while it was authoritative (restoreOwner): else they would outlive their removal, too.
//   - What the mirror's creation of the object set, which is an update, as if it had been an apply. made means that live is the API server's answer to
//     that very creation: what it has beyond wanted are the server's own defaults, and nobody's.
//
// Of an entry in another version that counts which live has under the same name. A field that has another name there stays with its owner.
func Takeover(wanted, live *unstructured.Unstructured, made bool, keep ...string) []metav1.ManagedFieldsEntry {
	entries := slices.Clone(live.GetManagedFields())
	gained := ownership{}
	if slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return Ours(e) && otherVersion(e, live) }) {
		return nil // it could not hold paths of this version, and the next apply writes it anew (Changes)
	}
	for i, e := range entries {
		if Ours(e) || e.Subresource != "" {
			continue
		}
		tree, renamed := owned(e), ownership{}
		if otherVersion(e, live) {
			renamed = tree
			tree = stripSaid(renamed, live.Object)
		}
		var taken ownership
		if created(e, tree) {
			tree, taken = inherit(tree, wanted, made)
		} else {
			taken = strip(tree, e, wanted, keep)
		}
		if len(taken) == 0 {
			continue
		}
		merge(gained, taken)
		if tree == nil { // all of a creation's
			tree = ownership{}
		}
		merge(tree, renamed)
		entries[i].FieldsV1 = fields(tree)
	}
	if len(gained) == 0 {
		return nil
	}
	return giveTo(slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return len(owned(e)) == 0 && e.Subresource == "" }), live, gained)
}

// asksFor is the field of a Machine API object that belongs to people once it is set, also where Poundlock set it first.
const asksFor = "f:authoritativeAPI"

// created reports whether an entry is of the mirror's creation of the object: no update of its sets a spec.
func created(e metav1.ManagedFieldsEntry, tree ownership) bool {
	ofCreation := func(field string) bool { return field != "." && field != asksFor }
	return e.Manager == Manager && e.Operation == metav1.ManagedFieldsOperationUpdate &&
		slices.ContainsFunc(slices.Collect(maps.Keys(below(tree, "f:spec"))), ofCreation)
}

// inherit divides what a creation set: what an apply would own, and what is left of the creation's. Of the answer to the creation itself that is what
// wanted has. Of an older one it is all: a field that wanted lacks may be a default, or one that the authority has dropped since.
func inherit(tree ownership, wanted *unstructured.Unstructured, made bool) (left, taken ownership) {
	asks, has := below(tree, "f:spec")[asksFor]
	if delete(below(tree, "f:spec"), asksFor); has {
		left = ownership{"f:spec": ownership{asksFor: asks}}
	}
	if made {
		return left, stripSaid(tree, wanted.Object)
	}
	return left, tree
}

// stripSaid removes from tree, and returns, the fields that wanted has.
func stripSaid(tree ownership, wanted any) ownership {
	moved := ownership{}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		sub := below(tree, key)
		child, found := element(key, wanted)
		switch {
		case key == ".": // that the map or the item is there at all goes with it
			moved[key] = tree[key]
			delete(tree, key)
		case !found:
		case len(sub) == 0:
			moved[key] = tree[key]
			delete(tree, key)
		default:
			if inner := stripSaid(sub, child); len(inner) > 0 {
				moved[key] = inner
			}
			if len(sub) == 0 {
				delete(tree, key)
			}
		}
	}
	return moved
}

// strip takes out of tree, and returns, what Takeover moves.
func strip(tree ownership, e metav1.ManagedFieldsEntry, wanted *unstructured.Unstructured, keep []string) ownership {
	taken := ownership{}
	if spec := below(tree, "f:spec"); spec != nil {
		if moved := stripUnwanted(spec, wanted.Object["spec"], "spec", keep); len(moved) > 0 {
			taken["f:spec"] = moved
		}
		if len(spec) == 0 {
			delete(tree, "f:spec")
		}
	}
	if e.Operation != metav1.ManagedFieldsOperationUpdate {
		return taken
	}
	metadata := below(tree, "f:metadata")
	if e.Manager == Manager {
		merge(taken, stripOwners(metadata, wanted))
	}
	for field, said := range map[string]map[string]string{"f:labels": wanted.GetLabels(), "f:annotations": wanted.GetAnnotations()} {
		moved := stripWanted(below(metadata, field), said)
		if len(moved) > 0 {
			merge(taken, ownership{"f:metadata": ownership{field: moved}})
		}
	}
	return taken
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
	others := ownership{}
	for _, e := range entries {
		// Of an entry in another version the paths with the same names are the same fields.
		if !Ours(e) && e.Subresource == "" && e.Manager != Manager {
			merge(others, owned(e))
		}
	}
	tree := owned(entries[mine])
	if !subtract(tree, others) {
		return nil
	}
	entries[mine].FieldsV1 = fields(tree)
	if len(tree) == 0 {
		entries = slices.Delete(entries, mine, mine+1)
	}
	return entries
}

// subtract takes out of tree what other has too, and reports whether that was anything.
func subtract(tree, other ownership) (changed bool) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		theirs, shared := other[key].(map[string]any)
		if !shared {
			continue
		}
		sub := below(tree, key)
		if len(sub) > 0 {
			changed = subtract(sub, theirs) || changed
		}
		if len(sub) == 0 {
			delete(tree, key)
			changed = true
		}
	}
	return changed
}

func below(tree ownership, key string) ownership {
	sub, _ := tree[key].(map[string]any)
	return sub
}

// stripOwners removes the owner references that wanted has from the metadata that an entry owns.
func stripOwners(metadata ownership, wanted *unstructured.Unstructured) ownership {
	given := below(metadata, "f:ownerReferences")
	moved := stripSaid(given, list(below(wanted.Object, "metadata")["ownerReferences"]))
	if len(moved) == 0 {
		return nil
	}
	if len(given) == 0 {
		delete(metadata, "f:ownerReferences")
	}
	return ownership{"f:metadata": ownership{"f:ownerReferences": moved}}
}

func stripUnwanted(tree ownership, wanted any, path string, keep []string) ownership {
	moved := ownership{}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		at := path + "." + strings.TrimPrefix(key, "f:")
		if key == "." || slices.Contains(keep, at) {
			continue
		}
		child, found := element(key, wanted)
		sub, _ := tree[key].(map[string]any)
		if !found {
			moved[key] = tree[key]
			delete(tree, key)
			continue
		}
		if inner := stripUnwanted(sub, child, at, keep); len(inner) > 0 {
			moved[key] = inner
			if len(sub) == 0 {
				delete(tree, key)
			}
		}
	}
	return moved
}

func stripWanted(tree ownership, said map[string]string) ownership {
	moved := ownership{}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		if _, ok := said[strings.TrimPrefix(key, "f:")]; ok {
			moved[key] = tree[key]
			delete(tree, key)
		}
	}
	return moved
}

func merge(into, from ownership) {
	for k, v := range from {
		sub, isMap := v.(map[string]any)
		have, has := into[k].(map[string]any)
		if isMap && has {
			merge(have, sub)
			continue
		}
		into[k] = v
	}
}

func giveTo(entries []metav1.ManagedFieldsEntry, live *unstructured.Unstructured, gained ownership) []metav1.ManagedFieldsEntry {
	for i, e := range entries {
		if Ours(e) {
			tree := owned(e)
			merge(tree, gained)
			entries[i].FieldsV1 = fields(tree)
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

func fields(tree ownership) *metav1.FieldsV1 {
	raw, err := json.Marshal(tree)
	if err != nil {
		return metav1.NewFieldsV1("{}") // JSON that was read is JSON that can be written
	}
	return metav1.NewFieldsV1(string(raw))
}

// Owns reports whether the mirror's applies own a field, by its path as managed fields spell it: f:spec, f:replicas.
func Owns(live *unstructured.Unstructured, path ...string) bool {
	for _, e := range live.GetManagedFields() {
		if Ours(e) {
			return holds(owned(e), path)
		}
	}
	return false
}

// Claimed reports whether the mirror has applied to an object.
func Claimed(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), Ours)
}

// Managers lists the managers of a field, through whatever subresource.
func Managers(o *unstructured.Unstructured, path ...string) []string {
	var out []string
	for _, e := range o.GetManagedFields() {
		if Holds(e, path...) {
			out = append(out, e.Manager)
		}
	}
	return out
}

// Holds reports whether an entry has a field.
func Holds(e metav1.ManagedFieldsEntry, path ...string) bool { return holds(owned(e), path) }

// Names are the fields that an entry has directly beneath another, without the sign of their kind.
func Names(e metav1.ManagedFieldsEntry, path ...string) []string {
	tree := owned(e)
	for _, step := range path {
		tree = below(tree, step)
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		if name, is := strings.CutPrefix(key, "f:"); is {
			out = append(out, name)
		}
	}
	return out
}

// holds reports whether a tree has a path, each step of it spelled as there.
func holds(tree ownership, path []string) bool {
	for _, step := range path {
		if tree = below(tree, step); tree == nil {
			return false
		}
	}
	return true
}

// Has reports whether live has what is wanted. What it has beyond that is a default.
func Has(live, wanted any) bool { return len(differs("", wanted, live)) == 0 }
