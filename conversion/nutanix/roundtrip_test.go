// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/nutanix"
	"github.com/poundlock/poundlock/conversion/nutanix/nutanixtest"
)

type (
	providerSpec = machinev1.NutanixMachineProviderConfig
	infraSpec    = nutanix.MachineSpec
)

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range conversion.Uncovered(nutanix.Fields) {
		t.Error(problem)
	}
	for _, problem := range conversion.Uncovered(nutanix.Disks) {
		t.Error(problem)
	}
}

// there and back share what the core Machine would carry.
func trips(core *conversion.Core) (func(*providerSpec) (*infraSpec, field.ErrorList), func(*infraSpec) (*providerSpec, field.ErrorList)) {
	env := nutanixtest.Kit().Env()
	there := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		p, c := conversion.NewPass(&env, core, ""), &infraSpec{}
		nutanix.Fields.ToClusterAPI(p, m, c)
		return c, p.Errors()
	}
	back := func(c *infraSpec) (*providerSpec, field.ErrorList) {
		p, m := conversion.NewPass(&env, core, ""), &providerSpec{}
		nutanix.Fields.ToMachineAPI(p, c, m)
		return m, p.Errors()
	}
	return there, back
}

func TestAProviderSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ProviderID: nutanixtest.Kit().ProviderID(nutanixtest.Element)})
	conversiontest.Trip[providerSpec, infraSpec]{
		There: there, Back: back, Lines: nutanix.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: nutanixtest.ProviderValues(), Repair: nutanixtest.RepairProvider, Normal: nutanixtest.NormalProvider,
	}.Run(t)
}

// TestADefaultedInfraSpecComesBack: the API server sets defaults on the way, and finds none to set.
func TestADefaultedInfraSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ProviderID: nutanixtest.Kit().ProviderID(nutanixtest.Element)})
	defaulted := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		c, errs := there(m)
		nutanixtest.Default(c)
		return c, errs
	}
	conversiontest.Trip[providerSpec, infraSpec]{
		There: defaulted, Back: back, Lines: nutanix.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: nutanixtest.ProviderValues(), Repair: nutanixtest.RepairProvider, Normal: nutanixtest.NormalProvider, Runs: 300,
	}.Run(t)
}

func TestAnInfraSpecComesBack(t *testing.T) {
	secret := "worker-user-data"
	there, back := trips(&conversion.Core{ProviderID: nutanixtest.Kit().ProviderID(nutanixtest.Element), BootstrapSecret: &secret})
	conversiontest.Trip[infraSpec, providerSpec]{
		There: back, Back: there, Lines: nutanix.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: nutanixtest.InfraValues(), Repair: nutanixtest.RepairInfra, Normal: nutanixtest.NormalInfra,
	}.Run(t)
}

// TestWhatTheAPIServerFillsInChangesNothing: a machine means the same with and without the API server's defaults.
func TestWhatTheAPIServerFillsInChangesNothing(t *testing.T) {
	secret := "worker-user-data"
	_, back := trips(&conversion.Core{BootstrapSecret: &secret})
	r := rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	for range 300 {
		c := nutanixtest.Kit().AnyInfraSpec(r).(*infraSpec)
		want, errs := back(c)
		nutanixtest.Default(c)
		got, again := back(c)
		if d := cmp.Diff(want, got); d != "" || len(errs)+len(again) > 0 {
			t.Fatalf("%v %v (-before +after):\n%s", errs.ToAggregate(), again.ToAggregate(), d)
		}
	}
}
