// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/azure"
	"github.com/poundlock/poundlock/conversion/azure/azuretest"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

type (
	providerSpec = machinev1beta1.AzureMachineProviderSpec
	infraSpec    = azurev1.AzureMachineSpec

	providerTrip = conversiontest.Trip[providerSpec, infraSpec]
	infraTrip    = conversiontest.Trip[infraSpec, providerSpec]
)

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range conversion.Uncovered(azure.Fields) {
		t.Error(problem)
	}
	for _, problem := range conversion.Uncovered(azure.Disks) {
		t.Error(problem)
	}
}

// there and back share what the core Machine would carry.
func trips(core *conversion.Core) (func(*providerSpec) (*infraSpec, field.ErrorList), func(*infraSpec) (*providerSpec, field.ErrorList)) {
	env := azuretest.Kit().Env()
	there := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		p, c := conversion.NewPass(&env, core, ""), &infraSpec{}
		azure.Fields.ToClusterAPI(p, m, c)
		return c, p.Errors()
	}
	back := func(c *infraSpec) (*providerSpec, field.ErrorList) {
		p, m := conversion.NewPass(&env, core, ""), &providerSpec{}
		azure.Fields.ToMachineAPI(p, c, m)
		return m, p.Errors()
	}
	return there, back
}

func fromProvider(core *conversion.Core) providerTrip {
	there, back := trips(core)
	return providerTrip{
		There: there, Back: back, Lines: azure.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: azuretest.ProviderValues(), Repair: azuretest.RepairProvider, Normal: azuretest.NormalProvider,
	}
}

func TestAProviderSpecComesBack(t *testing.T) {
	fromProvider(&conversion.Core{ProviderID: azuretest.Instance}).Run(t)
}

func TestAMastersProviderSpecComesBack(t *testing.T) {
	trip := fromProvider(&conversion.Core{ControlPlane: true, ProviderID: azuretest.Instance})
	trip.Repair = func(r *rand.Rand, m *providerSpec) {
		azuretest.RepairProvider(r, m)
		m.PublicIP, m.PublicLoadBalancer, m.InternalLoadBalancer = false, "lock-7x2k9", "lock-7x2k9-internal"
	}
	trip.Run(t)
}

// TestADefaultedInfraSpecComesBack: the API server and the Azure provider's webhooks set defaults on the way.
func TestADefaultedInfraSpecComesBack(t *testing.T) {
	trip := fromProvider(&conversion.Core{})
	there, normal := trip.There, trip.Normal
	trip.There = func(m *providerSpec) (*infraSpec, field.ErrorList) {
		c, errs := there(m)
		azuretest.Default(c)
		if c.SSHPublicKey == "" {
			c.SSHPublicKey = azuretest.Key
		}
		return c, errs
	}
	trip.Normal = func(m *providerSpec) {
		normal(m)
		m.SSHPublicKey = azuretest.Key
	}
	trip.Runs = 300
	trip.Run(t)
}

// TestDefaultsChangeNoValue: the Azure provider sets defaults for what the conversion leaves out.
func TestDefaultsChangeNoValue(t *testing.T) {
	trip := fromProvider(&conversion.Core{})
	r := rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	for range 300 {
		c, errs := trip.There(trip.Tame(r))
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		defaulted := c.DeepCopy()
		azuretest.Default(defaulted)
		if a, b := jsonOf(t, c), jsonOf(t, defaulted); a != b {
			t.Fatalf("the defaults change what was converted:\n%s\n%s", a, b)
		}
	}
}

func fromInfra(core *conversion.Core) infraTrip {
	there, back := trips(core)
	return infraTrip{
		There: back, Back: there, Lines: azure.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: azuretest.InfraValues(), Repair: azuretest.RepairInfra, Normal: azuretest.NormalInfra,
	}
}

func TestAnInfraSpecComesBack(t *testing.T) {
	secret := "worker-user-data"
	fromInfra(&conversion.Core{ProviderID: azuretest.Instance, FailureDomain: "1", BootstrapSecret: &secret}).Run(t)
}

func TestAMastersInfraSpecComesBack(t *testing.T) {
	secret := "master-user-data"
	trip := fromInfra(&conversion.Core{ControlPlane: true, ProviderID: azuretest.Instance, FailureDomain: "1", BootstrapSecret: &secret})
	trip.Repair = func(r *rand.Rand, c *infraSpec) {
		azuretest.RepairInfra(r, c)
		if c.AllocatePublicIP = false; len(c.NetworkInterfaces) > 0 {
			c.NetworkInterfaces[0].SubnetName = "lock-7x2k9-master-subnet"
		}
	}
	trip.Run(t)
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
