// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"math/rand/v2"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/vsphere"
	"github.com/poundlock/poundlock/conversion/vsphere/vspheretest"
)

type (
	providerSpec = machinev1beta1.VSphereMachineProviderSpec
	infraSpec    = vspherev1.VSphereMachineSpec
)

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range conversion.Uncovered(vsphere.Fields) {
		t.Error(problem)
	}
	for _, problem := range conversion.Uncovered(vsphere.Devices) {
		t.Error(problem)
	}
	for _, problem := range conversion.Uncovered(vsphere.Disks) {
		t.Error(problem)
	}
}

// there and back share what the core Machine would carry.
func trips(core *conversion.Core) (func(*providerSpec) (*infraSpec, field.ErrorList), func(*infraSpec) (*providerSpec, field.ErrorList)) {
	env := vspheretest.Kit().Env()
	there := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		p, c := conversion.NewPass(&env, core, ""), &infraSpec{}
		vsphere.Fields.ToClusterAPI(p, m, c)
		return c, p.Errors()
	}
	back := func(c *infraSpec) (*providerSpec, field.ErrorList) {
		p, m := conversion.NewPass(&env, core, ""), &providerSpec{}
		vsphere.Fields.ToMachineAPI(p, c, m)
		return m, p.Errors()
	}
	return there, back
}

func TestAProviderSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ProviderID: vspheretest.ProviderID("any")})
	conversiontest.Trip[providerSpec, infraSpec]{
		There: there, Back: back, Lines: vsphere.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: vspheretest.ProviderValues(), Repair: vspheretest.RepairProvider, Normal: vspheretest.NormalProvider,
	}.Run(t)
}

// TestADefaultedInfraSpecComesBack: the API server and the vSphere provider's webhook set defaults on the way.
func TestADefaultedInfraSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ProviderID: vspheretest.ProviderID("any")})
	defaulted := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		c, errs := there(m)
		if c.Datacenter == "" {
			t.Error("the webhook would fill in the datacenter: it must be said")
		}
		c.PowerOffMode = vspherev1.VirtualMachinePowerOpModeHard
		return c, errs
	}
	conversiontest.Trip[providerSpec, infraSpec]{
		There: defaulted, Back: back, Lines: vsphere.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: vspheretest.ProviderValues(), Repair: vspheretest.RepairProvider, Normal: vspheretest.NormalProvider, Runs: 300,
	}.Run(t)
}

func TestAnInfraSpecComesBack(t *testing.T) {
	secret := "worker-user-data"
	there, back := trips(&conversion.Core{ProviderID: vspheretest.ProviderID("any"), BootstrapSecret: &secret})
	conversiontest.Trip[infraSpec, providerSpec]{
		There: back, Back: there, Lines: vsphere.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: vspheretest.InfraValues(), Repair: vspheretest.RepairInfra, Normal: vspheretest.NormalInfra,
	}.Run(t)
}

// TestTheKitCanGo: the kit's generated specs convert in Machines and in MachineSets.
func TestTheKitCanGo(t *testing.T) {
	kit, r := vspheretest.Kit(), rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	env := kit.Env()
	for range 200 {
		m, c := kit.AnyProviderSpec(r), kit.AnyInfraSpec(r)
		for _, template := range []bool{false, true} {
			to := conversion.NewPass(&env, &conversion.Core{Template: template}, "")
			kit.Platform.Spec.ToClusterAPI(to, m)
			from := conversion.NewPass(&env, &conversion.Core{Template: template}, "")
			kit.Platform.Spec.ToMachineAPI(from, c)
			if errs := append(to.Errors(), from.Errors()...); len(errs) > 0 {
				t.Fatalf("in a template %t: %v", template, errs.ToAggregate())
			}
		}
	}
}
