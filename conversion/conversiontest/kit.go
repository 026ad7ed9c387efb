// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"math/rand/v2"

	"github.com/poundlock/poundlock/conversion"
)

// Kit is what a test needs to simulate a cluster on a platform. A platform's kit is in a package below the platform's package, such as
// conversion/aws/awstest.Kit().
type Kit struct {
	Platform conversion.Platform
	// Infrastructure is the content of the Infrastructure named cluster as an installer writes it: spec and status, without metadata.
	Infrastructure map[string]any
	// InfraCluster is the spec of the cluster's infrastructure cluster object (an AWSCluster).
	InfraCluster map[string]any
	// ProviderSpec is a worker's providerSpec as an installer writes it. It must convert.
	ProviderSpec map[string]any
	// AnyProviderSpec returns a random providerSpec, and AnyInfraSpec a random spec of an infrastructure machine. Both results convert, and may have any
	// convertible field set. Each result is a pointer to the platform's Go type.
	AnyProviderSpec, AnyInfraSpec func(*rand.Rand) any
	// ProviderID returns the provider ID of an instance called name, as the platform's cloud provider writes it.
	ProviderID func(name string) string
	// ProviderIDIn returns the provider ID of an instance in a zone, like ProviderID. nil: the platform's provider IDs do not contain the zone.
	ProviderIDIn func(zone, name string) string
	// Master has those fields of a control plane Machine's providerSpec that differ from ProviderSpec. It does not have the user data.
	Master map[string]any
	// Zones are the zones of the control plane. Each is text that occurs in the JSON of a providerSpec. The first one is the zone of ProviderSpec. nil: the
	// cluster has one failure domain, or none.
	Zones []string
	// Manifests says where the provider's Go module has the provider's manifests. The zero value: it has none that can be bundled.
	Manifests Manifests
	// Actuator describes what the Machine API's actuator reads and writes.
	Actuator Actuator
	// Controller describes how the provider's machine controller behaves.
	Controller Controller
}

// Env returns the Env of conversions in the kit's cluster.
func (k Kit) Env() conversion.Env {
	env := conversion.Env{
		Platform: k.Platform, ClusterName: "lock-7x2k9",
		MachineAPINamespace: "openshift-machine-api", ClusterAPINamespace: "openshift-cluster-api",
		Infrastructure: k.Infrastructure, InfraCluster: map[string]any{"spec": k.InfraCluster},
	}
	env.Region = env.PlatformStatus("region")
	return env
}

// Manifests names a provider's kustomization in the provider's Go module.
type Manifests struct {
	Module, Dir string
	// Name is clusterctl's name of the provider.
	Name, Version string
}
