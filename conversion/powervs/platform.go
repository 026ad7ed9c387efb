// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion"
)

// groupVersion returns the group and version of the provider's objects.
func groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2"}
}

// Platform returns the conversion for IBM Power Virtual Server: between OpenShift's providerSpec and the IBM Cloud provider's v1beta2 objects.
func Platform() conversion.Platform {
	spec := machinev1.GroupVersion.WithKind("PowerVSMachineProviderConfig")
	return conversion.Platform{
		Name:                 string(configv1.PowerVSPlatformType),
		InfraMachine:         conversion.Resource{GroupVersionKind: groupVersion().WithKind("IBMPowerVSMachine"), Plural: "ibmpowervsmachines"},
		InfraMachineTemplate: conversion.Resource{GroupVersionKind: groupVersion().WithKind("IBMPowerVSMachineTemplate"), Plural: "ibmpowervsmachinetemplates"},
		InfraCluster:         conversion.Resource{GroupVersionKind: groupVersion().WithKind("IBMPowerVSCluster"), Plural: "ibmpowervsclusters"},
		ProviderSpec:         spec,
		ProviderStatus:       providerStatusKind,
		CredentialsSecret:    "powervs-credentials",
		InstanceID:           "ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE",
		Spec:                 conversion.Untyped(Fields, spec),
		Editable:             conversion.Editable{Machine: []string{conversion.Everything}, Template: []string{conversion.Everything}},
		Status:               status{},
		Supposed:             supposed,
	}
}

// supposed is the value of Platform.Supposed, with names that no cluster has.
var supposed = conversion.Supposition{
	InfraCluster: `{"spec":{"serviceInstance":{"name":"supposed"},"zone":"supposed","resourceGroup":{"name":"supposed"},"network":{"regex":"supposed"},
		"vpc":{"name":"supposed","region":"supposed"},"loadBalancers":[{"name":"supposed","public":true},{"name":"supposed-int","public":false}]}}`,
	PlatformStatus: `{"region":"supposed","zone":"supposed","resourceGroup":"supposed"}`,
}
