// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"math/rand/v2"

	"github.com/poundlock/poundlock/conversion"
)

// Kit is what a test needs to simulate a cluster on a platform. Each platform's kit is in a package beside it: conversion/aws/awstest.Kit().
type Kit struct {
	Platform conversion.Platform
	// Infrastructure is the content of the Infrastructure named cluster as an installer writes it: spec and status, without metadata.
	Infrastructure map[string]any
	// InfraCluster is the spec of the infrastructure cluster object (an AWSCluster) of that cluster.
	InfraCluster map[string]any
	// ProviderSpec is a worker's providerSpec as an installer writes it; it converts.
	ProviderSpec map[string]any
	// AnyProviderSpec and AnyInfraSpec generate one that converts, with as many fields as possible; the result is a pointer to the platform's Go type.
	AnyProviderSpec, AnyInfraSpec func(*rand.Rand) any
	// ProviderID is that of an instance called name, as the platform's cloud provider writes it.
	ProviderID func(name string) string
	// ProviderIDIn is that of an instance in a zone, where provider IDs contain the zone; nil: they do not.
	ProviderIDIn func(zone, name string) string
	// Master is what a control plane Machine's providerSpec has differently from ProviderSpec, besides its user data.
	Master map[string]any
	// Zones are a control plane's, as a providerSpec spells them, in whichever field; the first is that of ProviderSpec. nil: there is one failure domain, or
	// none.
	Zones []string
	// Manifests are the provider's, from its module; the zero value: none that can be bundled.
	Manifests Manifests
	// Actuator is what the Machine API's actuator reads and writes.
	Actuator Actuator
	// Controller is how the provider's machine controller behaves.
	Controller Controller
}

// Env is the Env of a conversion in the kit's cluster.
func (k Kit) Env() conversion.Env {
	env := conversion.Env{
		Platform: k.Platform, ClusterName: "lock-7x2k9",
		MachineAPINamespace: "openshift-machine-api", ClusterAPINamespace: "openshift-cluster-api",
		Infrastructure: k.Infrastructure, InfraCluster: map[string]any{"spec": k.InfraCluster},
	}
	env.Region = env.PlatformStatus("region")
	return env
}

// Manifests are a provider's kustomization in its module.
type Manifests struct {
	Module, Dir string
	// Name is what clusterctl calls the provider.
	Name, Version string
}
