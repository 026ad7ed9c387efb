// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// A lock's message names the field of the other API's object. One field has no counterpart there, and the message says that, so that nobody looks for it.
func TestALockOfTheTemplatesAuthority(t *testing.T) {
	set := func(template string) *policies.Object {
		return &policies.Object{Spec: json.RawMessage(`{"authoritativeAPI":"ClusterAPI","template":` + template + `}`),
			Status: json.RawMessage(`{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}`)}
	}
	for template, want := range map[string]bool{
		`{"spec":{"authoritativeAPI":"ClusterAPI"}}`: true,
		`{"spec":{"taints":[]}}`:                     false,
		`{"metadata":{"labels":{"a":"b"}}}`:          false,
	} {
		c := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineSet", Name: "worker"}, Operation: admissionv1.Update,
			Old: set(`{}`), New: set(template)}
		for _, e := range authority.SpecLocked(c).Denials {
			if got := strings.Contains(e.Detail, "except spec.template.spec.authoritativeAPI: Cluster API has no such field"); got != want {
				t.Errorf("%s: %s", template, e.Detail)
			}
			want = false
		}
		if want {
			t.Errorf("%s: not refused", template)
		}
	}
}
