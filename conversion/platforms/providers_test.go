// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"slices"
	"testing"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies/authority"
)

// The object that a provider keeps for an instance is named in two places: by its kind where authority is decided, by its resource where it is read.
func TestProvidersAreKnownToBoth(t *testing.T) {
	for _, p := range platforms.List() {
		if _, err := platformstest.Named(p.Name); err != nil {
			t.Errorf("%s has no kit: give it a line in platformstest.Kits", p.Name)
		}
	}
	known := authority.Providers()
	for i, kit := range platformstest.Kits() {
		p := kit.Platform
		at := slices.IndexFunc(known, func(o authority.Provider) bool { return o.Machine == p.InfraMachine.Kind })
		if at < 0 {
			t.Errorf("%s: the rules know nothing of the controllers of %s: give it a row in providers of policies/authority/providers.go", p.Name, p.InfraMachine.Kind)
			continue
		}
		if at != i {
			t.Errorf("%s is row %d, and platform %d", p.InfraMachine.Kind, at, i)
		}
		if known[at].Platform != p.Name || known[at].ProviderSpec != p.ProviderSpec.Kind {
			t.Errorf("the row of %s has the platform %q and the providerSpec %q, want %q and %q: the rules recognize a Machine by them",
				p.InfraMachine.Kind, known[at].Platform, known[at].ProviderSpec, p.Name, p.ProviderSpec.Kind)
		}
		if want := known[at].Instance; p.InfraInstance.Kind != want || want != authority.InfraInstanceKind(p.InfraMachine.Kind) {
			t.Errorf("%s keeps %q, and authority knows %q", p.Name, p.InfraInstance.Kind, want)
		}
	}
	if len(known) != len(platformstest.Kits()) {
		t.Errorf("the rules know %d providers, and %d platforms have a kit", len(known), len(platformstest.Kits()))
	}
}
