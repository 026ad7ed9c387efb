// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/simulation"
)

// TestEachProviderIsKnownByItsAccount: a provider that is nobody to the rules could not write to its own objects while authority moves.
func TestEachProviderIsKnownByItsAccount(t *testing.T) {
	for _, p := range platforms.List() {
		account, err := simulation.Account(p.Name)
		if err != nil {
			t.Error(err)
		}
		if want := "system:serviceaccount:openshift-cluster-api:" + account; !slices.Contains(authority.OpenShiftIdentities()[policies.InfrastructureController], want) {
			t.Errorf("%s: %s is not among the accounts of --identity-infrastructure", p.Name, want)
		}
	}
}
