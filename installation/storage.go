// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/internal/managedfields"
)

// StorageOf returns the version in which the API server now stores the objects of a live CRD, and the other versions in which some of them may still be stored.
func StorageOf(live *unstructured.Unstructured) (storage string, older []string) {
	storage = storageVersion(live)
	stored, _, _ := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
	for _, version := range stored {
		if version != storage {
			older = append(older, version)
		}
	}
	return storage, older
}

// Stored returns the names of the CRDs of a provider with objects that may be stored in an older version. unseen reports that a CRD was not read, so that
// nobody knows about its objects.
func Stored(p Provider, seen func(Key) (live *unstructured.Unstructured, known bool)) (names []string, unseen bool) {
	for _, o := range p.In(bundle.Definitions) {
		live, known := seen(o.Key())
		unseen = unseen || !known
		if live == nil {
			continue
		}
		if _, older := StorageOf(live); len(older) > 0 {
			names = append(names, o.GetName())
		}
	}
	return names, unseen
}

func storageVersion(definition *unstructured.Unstructured) string {
	for _, version := range items(at(definition.Object, "spec"), "versions") {
		if stored, _ := version["storage"].(bool); stored {
			return text(version, "name")
		}
	}
	return ""
}

// Rewrites are the CRDs whose objects are being rewritten in a new storage version, by name, with the progress of each. They are stored, so that a new process
// can continue.
type Rewrites map[string]Rewrite

// Rewrite is the progress of rewriting the objects of one CRD. It is valid only for one generation of the CRD: by another generation, the storage version may
// have changed back and forth, and objects may have been stored in another version.
type Rewrite struct {
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`
	// Continue is the continue token with which the API server continues the list of objects.
	Continue string `json:"continue"`
}

// ParseRewrites reads the result of Text; "" means that there are none.
func ParseRewrites(text string) (Rewrites, error) {
	out := Rewrites{}
	if text == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return out, fmt.Errorf("reading the progress of the rewrite of stored objects: %w", err)
	}
	return out, nil
}

// Text returns the rewrites as text. Equal rewrites have equal text.
func (r Rewrites) Text() string {
	raw, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	return string(raw)
}

// At returns the continue token for the list of a live CRD's objects; "" means that the list begins with the first object.
func (r Rewrites) At(live *unstructured.Unstructured) string {
	if at := r[live.GetName()]; at.UID == live.GetUID() && at.Generation == live.GetGeneration() {
		return at.Continue
	}
	return ""
}

// With returns the rewrites with a new continue token for a live CRD; "" means that all objects of the CRD are rewritten.
func (r Rewrites) With(live *unstructured.Unstructured, next string) Rewrites {
	out := Rewrites{}
	maps.Copy(out, r)
	delete(out, live.GetName())
	if next != "" {
		out[live.GetName()] = Rewrite{UID: live.GetUID(), Generation: live.GetGeneration(), Continue: next}
	}
	return out
}

// ResourceOf returns the kind with which the objects of a CRD are read and written, in the storage version.
func ResourceOf(live *unstructured.Unstructured) schema.GroupVersionKind {
	spec := at(live.Object, "spec")
	return schema.GroupVersionKind{Group: text(spec, "group"), Version: storageVersion(live), Kind: text(at(spec, "names"), "kind")}
}

// Lost checks a new CRD for stored versions that it lacks. first reports that all objects must be rewritten before the CRD may change. It returns an error if
// the new CRD lacks the version in which the API server stores objects now.
func Lost(want, live *unstructured.Unstructured) (first bool, err error) {
	storage, older := StorageOf(live)
	lost := bundle.LostVersions(bundle.Document{Object: want.Object}, append(older, storage))
	switch {
	case slices.Contains(lost, storage):
		return false, fmt.Errorf("%s: objects are stored in version %s, which the new CustomResourceDefinition lacks: first install a release that "+
			"has both %s and %s",
			KeyOf(want), storage, storage, storageVersion(want))
	case len(lost) > 0:
		return true, nil
	}
	return false, nil
}

// Bridge returns a form of the CRD that works with old and new servers of its conversion, or nil if none is needed. Objects stay stored in their present
// version, served versions stay served, and the old server still converts. A version that only the new server has is served only if serveNew is true.
func Bridge(want, live *unstructured.Unstructured, serveNew bool) *unstructured.Unstructured {
	if live == nil || !isDefinition(want) || !moves(want, live) {
		return nil
	}
	out := want.DeepCopy()
	spec := at(out.Object, "spec")
	storage := storageVersion(live)
	var versions []any
	known := map[string]map[string]any{}
	for _, version := range items(at(live.Object, "spec"), "versions") {
		known[text(version, "name")] = version
	}
	for _, version := range items(spec, "versions") {
		name := text(version, "name")
		version["storage"] = name == storage
		wanted := version["served"] == true && serveNew
		version["served"] = wanted || known[name]["served"] == true
		delete(known, name)
		versions = append(versions, version)
	}
	for _, version := range items(at(live.DeepCopy().Object, "spec"), "versions") {
		if known[text(version, "name")] != nil {
			versions = append(versions, version)
		}
	}
	spec["versions"] = versions
	bridgeConversion(spec, live, serveNew)
	return out
}

// bridgeConversion keeps the server that converts now, with the CA that the service CA wrote. If no server converts so far, the new server begins to convert
// once it runs, or at once if serveNew is true.
func bridgeConversion(spec map[string]any, live *unstructured.Unstructured, serveNew bool) {
	conversion := at(live.DeepCopy().Object, "spec", "conversion")
	if text(conversion, "strategy") != "Webhook" {
		if !serveNew {
			spec["conversion"] = map[string]any{"strategy": "None"}
		}
		return
	}
	if injected(live) {
		delete(at(conversion, "webhook", "clientConfig"), "caBundle")
	}
	spec["conversion"] = conversion
}

// moves reports whether a CRD with a conversion changes which versions are served or stored, or which server converts.
func moves(want, live *unstructured.Unstructured) bool {
	next, now := at(want.Object, "spec", "conversion"), at(live.Object, "spec", "conversion")
	if text(next, "strategy") != "Webhook" {
		return false
	}
	return shape(want) != shape(live) || text(now, "strategy") != "Webhook" || !samePlace(at(next, "webhook", "clientConfig"), at(now, "webhook", "clientConfig"))
}

func shape(definition *unstructured.Unstructured) string {
	var out []string
	for _, version := range items(at(definition.Object, "spec"), "versions") {
		out = append(out, fmt.Sprint(version["name"], version["served"], version["storage"]))
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// Vanished returns the versions that a live CRD has and its new form lacks.
func Vanished(want, live *unstructured.Unstructured) []string {
	var out []string
	for _, version := range items(at(live.Object, "spec"), "versions") {
		if !slices.ContainsFunc(items(at(want.Object, "spec"), "versions"), func(v map[string]any) bool { return v["name"] == version["name"] }) {
			out = append(out, text(version, "name"))
		}
	}
	return out
}

// Retire moves managed fields from versions that vanish to a version that stays, and reports whether it has changed any. An API server refuses every apply to
// an object that has managed fields in a version that its CRD lacks.
func Retire(entries []metav1.ManagedFieldsEntry, group string, vanished []string, to string) (out []metav1.ManagedFieldsEntry, changed bool, err error) {
	for _, e := range entries {
		if version, found := strings.CutPrefix(e.APIVersion, group+"/"); found && slices.Contains(vanished, version) {
			e.APIVersion, changed = group+"/"+to, true
		}
		same := slices.IndexFunc(out, func(o metav1.ManagedFieldsEntry) bool {
			return o.Manager == e.Manager && o.Operation == e.Operation && o.Subresource == e.Subresource && o.APIVersion == e.APIVersion
		})
		if same < 0 {
			out = append(out, e)
			continue
		}
		one, err1 := managedfields.Read(out[same])
		other, err2 := managedfields.Read(e)
		if err := errors.Join(err1, err2); err != nil {
			return nil, false, err
		}
		if out[same].FieldsV1, err = managedfields.Write(one.Union(other)); err != nil {
			return nil, false, err
		}
	}
	return out, changed, nil
}
