// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

// Platform returns the conversion for Azure: between OpenShift's providerSpec and the Azure provider's v1beta1 objects.
func Platform() conversion.Platform {
	spec := machinev1beta1.GroupVersion.WithKind("AzureMachineProviderSpec")
	return conversion.Platform{
		Name:                 string(configv1.AzurePlatformType),
		InfraMachine:         conversion.Resource{GroupVersionKind: azurev1.GroupVersion.WithKind("AzureMachine"), Plural: "azuremachines"},
		InfraMachineTemplate: conversion.Resource{GroupVersionKind: azurev1.GroupVersion.WithKind("AzureMachineTemplate"), Plural: "azuremachinetemplates"},
		InfraCluster:         conversion.Resource{GroupVersionKind: azurev1.GroupVersion.WithKind("AzureCluster"), Plural: "azureclusters"},
		ProviderSpec:         spec,
		ProviderStatus:       providerStatusKind,
		CredentialsSecret:    "azure-cloud-credentials",
		InstanceID:           "azure:///subscriptions/SUBSCRIPTION/resourceGroups/GROUP/providers/Microsoft.Compute/virtualMachines/NAME",
		Spec:                 conversion.Untyped(Fields, spec),
		Editable: conversion.Editable{Machine: []string{
			"providerID", "failureDomain", "vmSize", "additionalTags", "additionalCapabilities", "dnsServers", "vmExtensions",
		}},
		FormerFields: map[string]string{
			"sshPrivateKey": "Machine API removed this field in 2019, and ignores it: remove the field, and the private key with it",
		},
		Account:       account,
		Interruptible: interruptible,
		Status:        status{},
		Supposed:      supposed,
	}
}

// interruptible reports whether a spec requests a spot machine. spec is a providerSpec or the spec of an AzureMachine.
func interruptible(spec any) bool {
	switch s := spec.(type) {
	case *providerSpec:
		return s.SpotVMOptions != nil
	case *infraSpec:
		return s.SpotVMOptions != nil
	}
	return false
}

// supposed is the value of Platform.Supposed, with names that no cluster has.
var supposed = conversion.Supposition{
	InfraCluster: `{"spec":{"subscriptionID":"","location":"supposed","resourceGroup":"supposed","azureEnvironment":"AzurePublicCloud","networkSpec":{
		"vnet":{"name":"supposed","resourceGroup":"supposed"},"subnets":[{"name":"supposed-master","role":"control-plane"},{"name":"supposed-worker","role":"node"}],
		"apiServerLB":{"name":"supposed-internal","type":"Internal"},"controlPlaneOutboundLB":{"name":"supposed"},"nodeOutboundLB":{"name":"supposed"}}}}`,
	PlatformStatus: `{"resourceGroupName":"supposed","networkResourceGroupName":"supposed","cloudName":"AzurePublicCloud"}`,
}
