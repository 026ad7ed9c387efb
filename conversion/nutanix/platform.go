// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion"
)

// groupVersion returns the group and version of the provider's objects.
func groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}
}

// Platform returns the conversion for Nutanix: between OpenShift's providerSpec and the Nutanix provider's v1beta1 objects.
func Platform() conversion.Platform {
	spec := machinev1.GroupVersion.WithKind("NutanixMachineProviderConfig")
	return conversion.Platform{
		Name:                 string(configv1.NutanixPlatformType),
		InfraMachine:         conversion.Resource{GroupVersionKind: groupVersion().WithKind("NutanixMachine"), Plural: "nutanixmachines"},
		InfraMachineTemplate: conversion.Resource{GroupVersionKind: groupVersion().WithKind("NutanixMachineTemplate"), Plural: "nutanixmachinetemplates"},
		InfraCluster:         conversion.Resource{GroupVersionKind: groupVersion().WithKind("NutanixCluster"), Plural: "nutanixclusters"},
		ProviderSpec:         spec,
		ProviderStatus:       providerStatusKind,
		CredentialsSecret:    "nutanix-credentials",
		InstanceID:           "nutanix://UUID",
		MakeInfraCluster:     makeCluster,
		Spec:                 conversion.Untyped(Fields, spec),
		Editable:             conversion.Editable{Machine: []string{conversion.Everything}, Template: []string{conversion.Everything}},
		Status:               status{},
		Supposed:             supposed,
	}
}

// supposed is the value of Platform.Supposed, with names that no cluster has.
var supposed = conversion.Supposition{
	InfraCluster: `{"spec":{"prismCentral":{"address":"supposed.example.com","port":9440}}}`,
	PlatformSpec: `{"prismCentral":{"address":"supposed.example.com","port":9440},"failureDomains":[{"name":"supposed","cluster":{"type":"Name","name":"supposed"},
		"subnets":[{"type":"Name","name":"supposed"}]}]}`,
}
