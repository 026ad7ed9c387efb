// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws_test

import (
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/aws"
	"github.com/poundlock/poundlock/conversion/aws/awstest"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

type (
	providerSpec = machinev1beta1.AWSMachineProviderConfig
	infraSpec    = awsv1.AWSMachineSpec
)

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range conversion.Uncovered(aws.Fields) {
		t.Error(problem)
	}
	for _, problem := range conversion.Uncovered(aws.Volumes) {
		t.Error(problem)
	}
}

// there and back share what the core Machine would carry.
func trips(core *conversion.Core) (func(*providerSpec) (*infraSpec, field.ErrorList), func(*infraSpec) (*providerSpec, field.ErrorList)) {
	env := awstest.Kit().Env()
	there := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		p, c := conversion.NewPass(&env, core, ""), &infraSpec{}
		aws.Fields.ToClusterAPI(p, m, c)
		return c, p.Errors()
	}
	back := func(c *infraSpec) (*providerSpec, field.ErrorList) {
		p, m := conversion.NewPass(&env, core, ""), &providerSpec{}
		aws.Fields.ToMachineAPI(p, c, m)
		return m, p.Errors()
	}
	return there, back
}

func TestAProviderSpecComesBack(t *testing.T) {
	core := &conversion.Core{ControlPlane: true, ProviderID: "aws:///us-east-1a/i-0123456789abcdef0"}
	there, back := trips(core)
	conversiontest.Trip[providerSpec, infraSpec]{
		There: there, Back: back, Lines: aws.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: awstest.ProviderValues(), Repair: awstest.RepairProvider, Normal: awstest.NormalProvider,
	}.Run(t)
}

// TestADefaultedInfraSpecComesBack: the API server and the AWS provider's webhooks set defaults on the way.
func TestADefaultedInfraSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ControlPlane: true})
	defaulted := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		c, errs := there(m)
		if c.HostAffinity == nil {
			c.HostAffinity = new("default")
		}
		if c.InstanceMetadataOptions != nil {
			c.InstanceMetadataOptions.SetDefaults()
		}
		return c, errs
	}
	conversiontest.Trip[providerSpec, infraSpec]{
		There: defaulted, Back: back, Lines: aws.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: awstest.ProviderValues(), Repair: awstest.RepairProvider, Normal: awstest.NormalProvider, Runs: 300,
	}.Run(t)
}

func TestAnInfraSpecComesBack(t *testing.T) {
	secret := "worker-user-data"
	core := &conversion.Core{ProviderID: "aws:///us-east-1a/i-0123456789abcdef0", FailureDomain: "us-east-1a", BootstrapSecret: &secret}
	there, back := trips(core)
	conversiontest.Trip[infraSpec, providerSpec]{
		There: back, Back: there, Lines: aws.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: awstest.InfraValues(), Repair: awstest.RepairInfra, Normal: awstest.NormalInfra,
	}.Run(t)
}
