// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestPoliciesNameTheirWriters: a row of authority.Grants that the webhook lets through must not be refused by a policy that lacks its identity.
func TestPoliciesNameTheirWriters(t *testing.T) {
	for _, g := range authority.Annotated(policies.MachineAPI) {
		if len(policyIdentities()[g.Actor]) == 0 {
			t.Errorf("%s: the policies are generated without the identity of %s", g.Writer, g.Actor)
		}
	}
}
