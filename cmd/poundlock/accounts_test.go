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

// TestEachProviderIsKnownByItsAccount: a provider that is nobody to the rules could not write to its own objects while authority moves, but
// for one whose account is anybody's in its namespace. There a move back waits for an instance that is known, and so nothing is in flight.
func TestEachProviderIsKnownByItsAccount(t *testing.T) {
	for _, p := range platforms.List() {
		account, err := simulation.Account(p.Name)
		if err != nil {
			t.Error(err)
		}
		known := account != "default"
		if want := "system:serviceaccount:openshift-cluster-api:" +
			account; slices.Contains(authority.OpenShiftIdentities()[policies.InfrastructureController], want) != known {
			t.Errorf("%s: is %s among the accounts of --identity-infrastructure? want %t", p.Name, want, known)
		}
	}
}
