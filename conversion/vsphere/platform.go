// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

// Platform returns the conversion for vSphere: between OpenShift's providerSpec and the vSphere provider's v1beta1 objects.
func Platform() conversion.Platform {
	spec := machinev1beta1.GroupVersion.WithKind("VSphereMachineProviderSpec")
	return conversion.Platform{
		Name:                 string(configv1.VSpherePlatformType),
		InfraMachine:         conversion.Resource{GroupVersionKind: vspherev1.GroupVersion.WithKind("VSphereMachine"), Plural: "vspheremachines"},
		InfraMachineTemplate: conversion.Resource{GroupVersionKind: vspherev1.GroupVersion.WithKind("VSphereMachineTemplate"), Plural: "vspheremachinetemplates"},
		InfraInstance:        conversion.Resource{GroupVersionKind: vspherev1.GroupVersion.WithKind("VSphereVM"), Plural: "vspherevms"},
		InstanceSpec:         instanceSpec,
		InfraCluster:         conversion.Resource{GroupVersionKind: vspherev1.GroupVersion.WithKind("VSphereCluster"), Plural: "vsphereclusters"},
		ProviderSpec:         spec,
		ProviderStatus:       providerStatusKind,
		CredentialsSecret:    "vsphere-cloud-credentials",
		InstanceID:           "vsphere://UUID",
		Spec:                 conversion.Untyped(Fields, spec),
		Editable:             conversion.Editable{Machine: []string{"providerID", "powerOffMode", "guestSoftPowerOffTimeout", "network.devices"}},
		Status:               status{},
		Supposed:             supposed,
	}
}

// supposed is the value of Platform.Supposed, with names that no cluster has.
var supposed = conversion.Supposition{
	InfraCluster: `{"spec":{"server":"supposed.example.com"}}`,
	PlatformSpec: `{"vcenters":[{"server":"supposed.example.com","datacenters":["supposed"]}],
		"failureDomains":[{"name":"supposed","region":"supposed","zone":"supposed",
		"server":"supposed.example.com","topology":{"datacenter":"supposed","computeCluster":"/supposed/host/supposed",
		"datastore":"/supposed/datastore/supposed","networks":["supposed"],
		"template":"/supposed/vm/supposed","folder":"/supposed/vm/supposed"}}]}`,
}
