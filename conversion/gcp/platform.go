// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

// Platform returns the conversion for Google Cloud: between OpenShift's providerSpec and the GCP provider's v1beta1 objects.
func Platform() conversion.Platform {
	spec := machinev1beta1.GroupVersion.WithKind("GCPMachineProviderSpec")
	return conversion.Platform{
		Name:                 string(configv1.GCPPlatformType),
		InfraMachine:         conversion.Resource{GroupVersionKind: gcpv1.GroupVersion.WithKind("GCPMachine"), Plural: "gcpmachines"},
		InfraMachineTemplate: conversion.Resource{GroupVersionKind: gcpv1.GroupVersion.WithKind("GCPMachineTemplate"), Plural: "gcpmachinetemplates"},
		InfraCluster:         conversion.Resource{GroupVersionKind: gcpv1.GroupVersion.WithKind("GCPCluster"), Plural: "gcpclusters"},
		ProviderSpec:         spec,
		ProviderStatus:       providerStatusKind,
		CredentialsSecret:    "gcp-cloud-credentials",
		InstanceID:           instanceForm,
		Spec:                 conversion.Untyped(Fields, spec),
		Editable:             conversion.Editable{Machine: editable, Template: editable},
		Interruptible:        interruptible,
		Status:               status{},
		Supposed:             supposed,
	}
}

// editable lists the fields that the provider's webhooks let users change after an object's creation. The list is the same for machines and templates.
var editable = []string{"providerID", "additionalLabels", "additionalNetworkTags"}

// interruptible reports whether a spec requests a preemptible or Spot instance. spec is a providerSpec or the spec of a GCPMachine.
func interruptible(spec any) bool {
	switch s := spec.(type) {
	case *providerSpec:
		return s.Preemptible || s.ProvisioningModel != nil && *s.ProvisioningModel == machinev1beta1.GCPSpotInstance
	case *infraSpec:
		return s.Preemptible || s.ProvisioningModel != nil && *s.ProvisioningModel == gcpv1.ProvisioningModelSpot
	}
	return false
}

// supposed is the value of Platform.Supposed, with names that no cluster has.
var supposed = conversion.Supposition{
	InfraCluster: `{"spec":{"project":"supposed","region":"supposed",` +
		`"network":{"name":"supposed"},"loadBalancer":{"apiServerInstanceGroupTagOverride":"master"}}}`,
	PlatformStatus: `{"projectID":"supposed","region":"supposed"}`,
}
