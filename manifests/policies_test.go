// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"slices"
	"testing"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestIdentities: whom the webhook lets through must not be refused by a policy or a match condition that knows nobody of that part.
func TestIdentities(t *testing.T) {
	identities := authority.OpenShiftIdentities()
	for _, g := range authority.Grants() {
		if len(identities[g.Actor]) == 0 {
			t.Errorf("%s: the manifests are generated without the identity of %s", g.Writer, g.Actor)
		}
	}
	if !slices.Equal(identities[policies.Poundlock], []string{User()}) {
		t.Errorf("Poundlock is %v to the rules, and runs as %s", identities[policies.Poundlock], User())
	}
}
