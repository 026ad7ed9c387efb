// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
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
			Says:    "An absent status.authoritativeAPI becomes the stored spec.authoritativeAPI, whoever writes status first: an API server drops status on create, so this is the first moment at which it can be stored.",
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

// DefaultStatus reads the stored spec: in a PUT to /status the requested one is whatever the client sent.
func DefaultStatus(c policies.Change) []policies.Patch {
	if Read(c.Old).Current != Unset || Read(c.New).Current != Unset {
		return nil
	}
	return []policies.Patch{{Path: "/status/authoritativeAPI", Value: askedFor(c.Old)}}
}
