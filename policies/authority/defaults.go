// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
)

// Defaulters lists what Poundlock fills in.
func Defaulters() []policies.Defaulter {
	return []policies.Defaulter{
		{
			ID:     "authority/default",
			Clause: "converting › Summary of the rules outlined above",
			Says:   "An empty spec.authoritativeAPI becomes ClusterAPI if a Cluster API object of the name exists, and MachineAPI otherwise.",
			On:     []policies.Scope{{Side: policies.MachineAPI, Kinds: kinds, Operations: []admissionv1.Operation{admissionv1.Create}}},
			Needs: func(c policies.Change) policies.Need {
				if Read(c.New).Requested != Unset {
					return 0
				}
				return policies.NeedLiveTwin
			},
			Default: DefaultRequest,
		},
		{
			ID:      "authority/status-default",
			Clause:  "converting › Authority of resources and controller reconciliations",
			Says:    "An absent status.authoritativeAPI becomes the stored spec.authoritativeAPI, whoever writes status first: an API server drops status on create, so this is the first moment at which it can be stored. Later, an absent authoritativeAPI, synchronizedAPI, synchronizedGeneration or condition Synchronized keeps its stored value: a client whose types lack the field replaces the whole status without it.",
			On:      []policies.Scope{{Side: policies.MachineAPI, Kinds: withControlPlane(kinds), Operations: []admissionv1.Operation{admissionv1.Update}, Subresource: "status"}},
			Default: DefaultStatus,
		},
	}
}

// DefaultRequest follows the mirror where the request names no authority.
func DefaultRequest(c policies.Change) []policies.Patch {
	if Read(c.New).Requested != Unset {
		return nil
	}
	api := MachineAPI
	if c.Facts.Twin != nil {
		api = ClusterAPI
	}
	return []policies.Patch{{Path: "/spec/authoritativeAPI", Value: api}}
}

// DefaultStatus reads the stored spec: in a PUT to /status the requested one is whatever the client sent. Of Poundlock's own fields it keeps what a
// request leaves out. What a request changes is StatusOwned's to refuse.
func DefaultStatus(c policies.Change) []policies.Patch {
	if Read(c.Old).Current == Unset && Read(c.New).Current == Unset {
		return []policies.Patch{{Path: "/status/authoritativeAPI", Value: askedFor(c.Old)}}
	}
	if c.Actor == policies.Poundlock {
		return nil
	}
	before, after := statusFields(c.Old), statusFields(c.New)
	var out []policies.Patch
	for _, name := range ownStatus {
		if nothing(after[name]) && !nothing(before[name]) {
			out = append(out, policies.Patch{Path: "/status/" + name, Value: before[name]})
		}
	}
	if kept := synchronized(before); len(kept) > 0 && len(synchronized(after)) == 0 {
		out = append(out, policies.Patch{Path: "/status/conditions", Value: append(conditions(after), any(kept[0]))})
	}
	return out
}

// nothing reports whether a member of status is absent, in one of the ways in which clients leave a field out.
func nothing(value json.RawMessage) bool {
	return len(value) == 0 || string(value) == "null" || string(value) == `""`
}

// conditions are those of a status as they came.
func conditions(status map[string]json.RawMessage) []any {
	var out []any
	_ = json.Unmarshal(orNull(status["conditions"]), &out)
	return out
}
