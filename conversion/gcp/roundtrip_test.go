// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp_test

import (
	"maps"
	"slices"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/gcp"
	"github.com/poundlock/poundlock/conversion/gcp/gcptest"
)

type (
	providerSpec = machinev1beta1.GCPMachineProviderSpec
	infraSpec    = gcpv1.GCPMachineSpec
)

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range conversion.Uncovered(gcp.Fields) {
		t.Error(problem)
	}
}

// there and back share what the core Machine would carry.
func trips(env conversion.Env, core *conversion.Core) (func(*providerSpec) (*infraSpec, field.ErrorList), func(*infraSpec) (*providerSpec, field.ErrorList)) {
	there := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		p, c := conversion.NewPass(&env, core, ""), &infraSpec{}
		gcp.Fields.ToClusterAPI(p, m, c)
		return c, p.Errors()
	}
	back := func(c *infraSpec) (*providerSpec, field.ErrorList) {
		p, m := conversion.NewPass(&env, core, ""), &providerSpec{}
		gcp.Fields.ToMachineAPI(p, c, m)
		return m, p.Errors()
	}
	return there, back
}

func providerTrip(env conversion.Env, core *conversion.Core) conversiontest.Trip[providerSpec, infraSpec] {
	there, back := trips(env, core)
	return conversiontest.Trip[providerSpec, infraSpec]{
		There: there, Back: back, Lines: gcp.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: gcptest.ProviderValues(), Repair: gcptest.RepairProvider, Normal: gcptest.NormalProvider,
	}
}

func infraTrip(env conversion.Env, core *conversion.Core) conversiontest.Trip[infraSpec, providerSpec] {
	there, back := trips(env, core)
	return conversiontest.Trip[infraSpec, providerSpec]{
		There: back, Back: there, Lines: gcp.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: gcptest.InfraValues(), Repair: gcptest.RepairInfra, Normal: gcptest.NormalInfra,
	}
}

func TestAProviderSpecComesBack(t *testing.T) {
	providerTrip(gcptest.Kit().Env(), &conversion.Core{ControlPlane: true, ProviderID: gcptest.ProviderID("x")}).Run(t)
}

func TestAnInfraSpecComesBack(t *testing.T) {
	infraTrip(gcptest.Kit().Env(), &conversion.Core{
		ProviderID: gcptest.ProviderID("x"), FailureDomain: gcptest.Zone, BootstrapSecret: new("worker-user-data"),
	}).Run(t)
}

// sharedEnv is a cluster in another project's network, with labels and tags for all that it creates.
func sharedEnv() conversion.Env {
	env := gcptest.Kit().Env()
	set(&env.InfraCluster, "host-project", "spec", "network", "hostProject")
	set(&env.Infrastructure, []any{
		map[string]any{"key": "team", "value": "locks"}, map[string]any{"key": "water", "value": "fresh"},
	}, "status", "platformStatus", "gcp", "resourceLabels")
	set(&env.Infrastructure, []any{
		map[string]any{"parentID": "openshift", "key": "stage", "value": "production"},
	}, "status", "platformStatus", "gcp", "resourceTags")
	return env
}

var stage = machinev1beta1.ResourceManagerTag{ParentID: "openshift", Key: "stage", Value: "production"}

// set puts a value into a copy of a map of maps.
func set(m *map[string]any, value any, path ...string) {
	*m = maps.Clone(*m)
	if *m == nil {
		*m = map[string]any{}
	}
	if len(path) == 1 {
		(*m)[path[0]] = value
		return
	}
	next, _ := (*m)[path[0]].(map[string]any)
	set(&next, value, path[1:]...)
	(*m)[path[0]] = next
}

func TestAProviderSpecOfASharedNetworkComesBack(t *testing.T) {
	trip := providerTrip(sharedEnv(), &conversion.Core{})
	trip.Runs = 300
	trip.Values["networkInterfaces[].projectID"] = conversiontest.OneOf("host-project")
	trip.Values["networkInterfaces"] = conversiontest.OneOf([]*machinev1beta1.GCPNetworkInterface{{Network: gcptest.Network,
		ProjectID: "host-project", Subnetwork: "shared"}})
	trip.Normal = func(m *providerSpec) {
		gcptest.NormalProvider(m)
		for k, v := range map[string]string{"team": "locks", "water": "fresh"} {
			if _, there := m.Labels[k]; !there {
				m.Labels[k] = v
			}
		}
		if !slices.ContainsFunc(m.ResourceManagerTags, func(t machinev1beta1.ResourceManagerTag) bool { return t.Key == stage.Key }) {
			m.ResourceManagerTags = append(m.ResourceManagerTags, stage)
		}
	}
	trip.Run(t)
}
