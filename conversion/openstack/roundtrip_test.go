// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"testing"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/openstack"
	"github.com/poundlock/poundlock/conversion/openstack/openstacktest"
)

type (
	providerSpec = machinev1alpha1.OpenstackProviderSpec
	infraSpec    = openstackv1.OpenStackMachineSpec
)

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range append(conversion.Uncovered(openstack.Fields), conversion.Uncovered(openstack.BlockDevices)...) {
		t.Error(problem)
	}
}

// there and back share what the core Machine would carry.
func trips(core *conversion.Core) (func(*providerSpec) (*infraSpec, field.ErrorList), func(*infraSpec) (*providerSpec, field.ErrorList)) {
	env := openstacktest.Kit().Env()
	there := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		p, c := conversion.NewPass(&env, core, ""), &infraSpec{}
		openstack.Fields.ToClusterAPI(p, m, c)
		return c, p.Errors()
	}
	back := func(c *infraSpec) (*providerSpec, field.ErrorList) {
		p, m := conversion.NewPass(&env, core, ""), &providerSpec{}
		openstack.Fields.ToMachineAPI(p, c, m)
		return m, p.Errors()
	}
	return there, back
}

func TestAProviderSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ControlPlane: true, ProviderID: openstacktest.ProviderID})
	conversiontest.Trip[providerSpec, infraSpec]{
		There: there, Back: back, Lines: openstack.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: openstacktest.ProviderValues(), Repair: openstacktest.RepairProvider, Normal: openstacktest.NormalProvider,
	}.Run(t)
}

// TestADefaultedInfraSpecComesBack: the API server sets defaults on the way.
func TestADefaultedInfraSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{})
	defaulted := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		c, errs := there(m)
		if c.IdentityRef != nil && c.IdentityRef.Type == "" {
			c.IdentityRef.Type = "Secret"
		}
		if c.RootVolume != nil {
			defaultZone(c.RootVolume.AvailabilityZone)
		}
		for _, d := range c.AdditionalBlockDevices {
			if d.Storage.Volume != nil {
				defaultZone(d.Storage.Volume.AvailabilityZone)
			}
		}
		return c, errs
	}
	conversiontest.Trip[providerSpec, infraSpec]{
		There: defaulted, Back: back, Lines: openstack.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: openstacktest.ProviderValues(), Repair: openstacktest.RepairProvider, Normal: openstacktest.NormalProvider, Runs: 300,
	}.Run(t)
}

func defaultZone(z *openstackv1.VolumeAvailabilityZone) {
	if z != nil && z.From == "" {
		z.From = openstackv1.VolumeAZFromName
	}
}

func TestAnInfraSpecComesBack(t *testing.T) {
	secret := "worker-user-data"
	there, back := trips(&conversion.Core{ProviderID: openstacktest.ProviderID, FailureDomain: openstacktest.FailureDomain, BootstrapSecret: &secret})
	conversiontest.Trip[infraSpec, providerSpec]{
		There: back, Back: there, Lines: openstack.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: openstacktest.InfraValues(), Repair: openstacktest.RepairInfra, Normal: openstacktest.NormalInfra,
	}.Run(t)
}
