// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"testing"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
)

// What a provider keeps for an instance is named in two places: by its kind where authority is decided, by its resource where it is read.
func TestInstancesAreKnownToBoth(t *testing.T) {
	for _, p := range platforms.List() {
		if want := authority.InfraInstanceKind(p.InfraMachine.Kind); p.InfraInstance.Kind != want {
			t.Errorf("%s keeps %q, and authority knows %q", p.Name, p.InfraInstance.Kind, want)
		}
	}
}
