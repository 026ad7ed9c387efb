// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/powervs"
	"github.com/poundlock/poundlock/conversion/powervs/powervstest"
)

type (
	providerSpec = machinev1.PowerVSMachineProviderConfig
	infraSpec    = powervs.MachineSpec
)

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range conversion.Uncovered(powervs.Fields) {
		t.Error(problem)
	}
}

// there and back share what the core Machine would carry.
func trips(core *conversion.Core) (func(*providerSpec) (*infraSpec, field.ErrorList), func(*infraSpec) (*providerSpec, field.ErrorList)) {
	env := powervstest.Kit().Env()
	there := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		p, c := conversion.NewPass(&env, core, ""), &infraSpec{}
		powervs.Fields.ToClusterAPI(p, m, c)
		return c, p.Errors()
	}
	back := func(c *infraSpec) (*providerSpec, field.ErrorList) {
		p, m := conversion.NewPass(&env, core, ""), &providerSpec{}
		powervs.Fields.ToMachineAPI(p, c, m)
		return m, p.Errors()
	}
	return there, back
}

func TestAProviderSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ControlPlane: true, ProviderID: powervstest.Kit().ProviderID("i-1")})
	conversiontest.Trip[providerSpec, infraSpec]{
		There: there, Back: back, Lines: powervs.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: powervstest.ProviderValues(), Repair: powervstest.RepairProvider, Normal: powervstest.NormalProvider,
	}.Run(t)
}

// TestADefaultedInfraSpecComesBack: the provider's webhook sets defaults on the way, and finds none to set.
func TestADefaultedInfraSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ControlPlane: true})
	defaulted := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		c, errs := there(m)
		before := *c
		if powervstest.Default(c); len(errs) == 0 && before != *c {
			t.Errorf("Cluster API's default took the place of Machine API's (-said +filled in):\n%s", cmp.Diff(before, *c))
		}
		return c, errs
	}
	conversiontest.Trip[providerSpec, infraSpec]{
		There: defaulted, Back: back, Lines: powervs.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: powervstest.ProviderValues(), Repair: powervstest.RepairProvider, Normal: powervstest.NormalProvider, Runs: 300,
	}.Run(t)
}

func TestAnInfraSpecComesBack(t *testing.T) {
	secret := "worker-user-data"
	there, back := trips(&conversion.Core{ProviderID: powervstest.Kit().ProviderID("i-1"), BootstrapSecret: &secret})
	conversiontest.Trip[infraSpec, providerSpec]{
		There: back, Back: there, Lines: powervs.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: powervstest.InfraValues(), Repair: powervstest.RepairInfra, Normal: powervstest.NormalInfra,
	}.Run(t)
}

// TestWhatTheWebhookFillsInChangesNothing: a machine means the same with and without the defaults of the provider's webhook.
func TestWhatTheWebhookFillsInChangesNothing(t *testing.T) {
	secret := "worker-user-data"
	_, back := trips(&conversion.Core{BootstrapSecret: &secret})
	r := rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	for range 300 {
		c := powervstest.Kit().AnyInfraSpec(r).(*infraSpec)
		want, errs := back(c)
		powervstest.Default(c)
		got, again := back(c)
		if d := cmp.Diff(want, got); d != "" || len(errs)+len(again) > 0 {
			t.Fatalf("%v %v (-before +after):\n%s", errs.ToAggregate(), again.ToAggregate(), d)
		}
	}
}
