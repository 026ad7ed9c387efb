// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestEachPlatformIsSimulated: the rows are there, speak of the kinds that convert, and pause as Poundlock expects of that provider.
func TestEachPlatformIsSimulated(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		p, err := platformNamed(kit.Platform.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.actuator.Spec != kit.Platform.ProviderSpec || p.actuator.Status != kit.Platform.ProviderStatus {
			t.Errorf("%s: the actuator is for %s and %s, the conversion for %s and %s", kit.Platform.Name, p.actuator.Spec, p.actuator.Status, kit.Platform.ProviderSpec,
				kit.Platform.ProviderStatus)
		}
		if want := authority.InfraFinalizer(kit.Platform.InfraMachine.Group, kit.Platform.InfraMachine.Kind); p.Finalizer != want {
			t.Errorf("%s: the finalizer is %s, and Poundlock looks for %s", kit.Platform.Name, p.Finalizer, want)
		}
		ways := map[conversiontest.Answer]authority.Acknowledgement{
			conversiontest.ByCondition: authority.ByCondition, conversiontest.ByNewCondition: authority.ByCondition, conversiontest.ByBlockMove: authority.ByBlockMove, conversiontest.InSilence: authority.ByPatience,
		}
		if want := authority.Acknowledges(kit.Platform.InfraMachine.Kind); ways[p.Answers] != want {
			t.Errorf("%s: it answers to a pause in way %d, and Poundlock listens in way %d", kit.Platform.Name, ways[p.Answers], want)
		}
	}
}
