// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
)

// Group is one reason that keeps objects from moving, with these objects.
type Group struct {
	Readiness readiness.Readiness `json:"verdict"`
	Reason    string              `json:"reason"`
	// Field is the path without what differs between objects: indexes, and the path to the providerSpec.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// Objects names the objects as kubectl accepts them: machineset.machine.openshift.io/worker-a.
	Objects []string `json:"objects"`
	// refs names the same objects as KIND/NAME, for a table.
	refs []string
}

// Groups returns the reasons of all objects, with equal reasons merged, the worst and most frequent first.
func Groups(findings []readiness.Finding) []Group {
	type key struct {
		verdict                readiness.Readiness
		reason, field, message string
	}
	at := map[key]int{}
	var out []Group
	for _, f := range findings {
		for _, g := range GroupsOf(f) {
			k := key{g.Readiness, g.Reason, g.Field, g.Message}
			i, there := at[k]
			if !there {
				i, at[k] = len(out), len(out)
				out = append(out, g)
			}
			if n := len(out[i].refs); n == 0 || out[i].refs[n-1] != f.Ref() {
				out[i].refs, out[i].Objects = append(out[i].refs, f.Ref()), append(out[i].Objects, f.Object())
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(severity(a.Readiness), severity(b.Readiness)), cmp.Compare(len(b.Objects), len(a.Objects)))
	})
	return out
}

// GroupsOf returns the groups of one object, without Objects: one group for each field that does not convert, or else one for the object's reason.
func GroupsOf(f readiness.Finding) []Group {
	if f.Readiness == readiness.Ready || f.Readiness == readiness.There && f.Reason == "" {
		return nil
	}
	if f.Reason != readiness.ReasonFields || len(f.Fields) == 0 { // the reason is the mirror's; its fields convert now, or with what was not shown
		return []Group{{Readiness: f.Readiness, Reason: f.Reason, Message: f.Message}}
	}
	var out []Group
	for _, field := range f.Fields {
		out = append(out, Group{Readiness: f.Readiness, Reason: f.Reason, Field: readiness.Short(field.Path), Message: field.Reason})
	}
	return out
}

func severity(v readiness.Readiness) int { return slices.Index(readiness.Readinesses(), v) }
