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

// CarriedManager refuses a write to a mirror that the locks allow to the user but that Poundlock would not copy to the authoritative object. The locks identify
// a writer by the user name. Poundlock identifies a writer by the field manager, because an object records nothing else. If the two do not fit, the write would
// pass, and Poundlock would then revert it without a message.
//
// A removed field has no field manager, so removals pass. A review of /scale shows the field manager only if the request names one. So a write through /scale
// passes if another program makes it under its default field manager, and Poundlock then reverts it.
func CarriedManager(c policies.Change) policies.Verdict {
	var errs field.ErrorList
	for _, written := range carriedWrites(c) {
		if by := recordedAs(c, written.path); len(by) > 0 && !slices.Contains(by, written.manager) {
			errs = append(errs, field.Forbidden(written.field, fmt.Sprintf(
				"Poundlock copies this field to %s only from the field manager %s. The field manager of this request is %s, so Poundlock would restore the old value. "+
					"Write the field as field manager %s (set it with --field-manager, or by the name of the program)",
				there(c), written.manager, brief(by[0]), written.manager)))
		}
	}
	return policies.Deny(errs...)
}

// carriedWrite is a field that a request adds or changes on a mirror. manager is the field manager from which Poundlock copies that field to the authoritative
// object.
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

// recordedAs returns the field managers that own a field after the request. It returns none if the review does not show the field managers.
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

// writesCarried reports whether an actor makes the request whose writes to a mirror Poundlock copies to the authoritative object.
func writesCarried(c policies.Change) bool {
	return c.Operation == admissionv1.Update && slices.ContainsFunc(grants, func(g Grant) bool { return g.Manager != "" && g.Actor == c.Actor })
}

// carriedNeeds returns the facts that show which API is authoritative. The locks need these facts too.
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
