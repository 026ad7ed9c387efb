// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/policies"
)

// CarriedManager refuses what the locks would let a writer write to a mirror although the mirror would not carry it over. Locks identify a writer by its
// user name, the mirror by its field manager, because an object records nothing else. Where the two disagree, the write would pass, and the mirror would
// revert it without a message.
//
// A removed field has no owner, so removals pass. A review of /scale has the field manager only where the request names one: a write under another
// program's name passes there, and is reverted.
// let through there, and put back.
func CarriedManager(c policies.Change) policies.Verdict {
	var errs field.ErrorList
	for _, written := range carriedWrites(c) {
		if by := recordedAs(c, written.path); len(by) > 0 && !slices.Contains(by, written.manager) {
			errs = append(errs, field.Forbidden(written.field, fmt.Sprintf(
				"Poundlock copies this field to %s only from the field manager %s. The field manager of this request is %s, so Poundlock would restore the old value. "+
					"Write it as field manager %s (--field-manager, or the name of the program)",
				there(c), written.manager, brief(by[0]), written.manager)))
		}
	}
	return policies.Deny(errs...)
}

// carriedWrite is a field that a request adds or changes, and the field manager from which the mirror carries it over.
type carriedWrite struct {
	field   *field.Path
	path    []string
	manager string
}

func carriedWrites(c policies.Change) []carriedWrite {
	var out []carriedWrite
	for _, g := range grants {
		if g.Manager == "" || g.Effects&(Adds|Changes) == 0 || !g.applies(c) {
			continue
		}
		if replicas := specPath.Child("replicas"); slices.Contains(g.Fields, replicas.String()) && !sameReplicas(c) {
			out = append(out, carriedWrite{replicas, []string{"spec", "replicas"}, g.Manager})
		}
		if c.Subresource != "" {
			continue
		}
		for _, m := range metadataChanges(c) {
			if m.annotation && !m.removed && slices.Contains(g.Fields, m.path().String()) {
				out = append(out, carriedWrite{m.path(), []string{"metadata", "annotations", m.key}, g.Manager})
			}
		}
	}
	return out
}

// recordedAs lists the field managers that have a field by the request; none where the review does not show it.
func recordedAs(c policies.Change, path []string) []string {
	switch {
	case c.FieldManager != "":
		return []string{c.FieldManager}
	case c.Subresource != "":
		return nil
	}
	var o struct {
		Metadata struct {
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	if json.Unmarshal(c.New.Raw(), &o) != nil {
		return nil
	}
	var out []string
	for _, e := range o.Metadata.ManagedFields {
		if e.Subresource == "" && managedfields.EntryHolds(e, managedfields.Path(path...)) {
			out = append(out, e.Manager)
		}
	}
	return out
}

// writesCarried reports whether a request is of somebody whose writes to a mirror are carried over.
func writesCarried(c policies.Change) bool {
	return c.Operation == admissionv1.Update && slices.ContainsFunc(grants, func(g Grant) bool { return g.Manager != "" && g.Actor == c.Actor })
}

// carriedNeeds is what shows which API is authoritative, as the locks look it up.
func carriedNeeds(c policies.Change) (n policies.Need) {
	if !writesCarried(c) {
		return 0
	}
	if c.Subresource != "" {
		n |= policies.NeedStored
	}
	if c.Side == policies.SideClusterAPI {
		n |= policies.NeedTwin
	}
	return n
}
