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

// CarriedManager refuses a write to a mirror that the locks would allow to the user but that Poundlock would not carry over to the authoritative object. The
// locks identify a writer by its user name. Poundlock identifies a writer by its field manager, because an object records nothing else. Where the two
// disagree, the write would pass, and Poundlock would then revert it without a message.
//
// A removed field has no field manager, so removals pass. A review of /scale has the field manager only if the request names one. So a write through /scale
// under another program's default name passes, and Poundlock reverts it.
func CarriedManager(c policies.Change) policies.Verdict {
	var errs field.ErrorList
	for _, written := range carriedWrites(c) {
		if by := recordedAs(c, written.path); len(by) > 0 && !slices.Contains(by, written.manager) {
			errs = append(errs, field.Forbidden(written.field, fmt.Sprintf(
				"Poundlock carries this over to %s only from the field manager %s, and this request's is %s, so that Poundlock would put it back. "+
					"Write as %s, by the name of the program or --field-manager",
				there(c), written.manager, brief(by[0]), written.manager)))
		}
	}
	return policies.Deny(errs...)
}

// carriedWrite is a field that a request adds or changes on a mirror, and the field manager from which Poundlock carries that field over to the authoritative
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

// recordedAs returns the field managers that own a field after the request. It returns none if the review does not show them.
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

// writesCarried reports whether a request is by somebody whose writes to a mirror Poundlock carries over.
func writesCarried(c policies.Change) bool {
	return c.Operation == admissionv1.Update && slices.ContainsFunc(grants, func(g Grant) bool { return g.Manager != "" && g.Actor == c.Actor })
}

// carriedNeeds returns the facts that show which API is authoritative. The locks ask for the same facts.
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
