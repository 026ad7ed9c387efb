// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

// serversVersion is the group and version of OpenStackServer. The provider serves no other version of this kind.
var serversVersion = schema.GroupVersion{Group: openstackv1.SchemeGroupVersion.Group, Version: "v1alpha1"}

// Platform returns the conversion for OpenStack: between OpenShift's providerSpec and the OpenStack provider's v1beta1 objects.
func Platform() conversion.Platform {
	spec := machinev1alpha1.GroupVersion.WithKind("OpenstackProviderSpec")
	return conversion.Platform{
		Name:         string(configv1.OpenStackPlatformType),
		InfraMachine: conversion.Resource{GroupVersionKind: openstackv1.SchemeGroupVersion.WithKind("OpenStackMachine"), Plural: "openstackmachines"},
		InfraMachineTemplate: conversion.Resource{GroupVersionKind: openstackv1.SchemeGroupVersion.WithKind("OpenStackMachineTemplate"),
			Plural: "openstackmachinetemplates"},
		InfraInstance:     conversion.Resource{GroupVersionKind: serversVersion.WithKind("OpenStackServer"), Plural: "openstackservers"},
		InfraCluster:      conversion.Resource{GroupVersionKind: openstackv1.SchemeGroupVersion.WithKind("OpenStackCluster"), Plural: "openstackclusters"},
		ProviderSpec:      spec,
		ProviderStatus:    providerStatusKind,
		CredentialsSecret: "openstack-cloud-credentials",
		InstanceID:        "openstack:///UUID",
		MakeInfraCluster:  makeCluster,
		Spec:              conversion.Untyped(Fields, spec),
		Editable:          conversion.Editable{Machine: []string{"identityRef.type", "identityRef.name", "identityRef.cloudName"}},
		Status:            status{},
		Supposed:          supposed,
	}
}

// supposed is the value of Platform.Supposed, with names that no cluster has.
var supposed = conversion.Supposition{
	InfraCluster: `{"spec":{"identityRef":{"name":"openstack-cloud-credentials","cloudName":"openstack"},"network":{"filter":{"name":"supposed"}},
		"subnets":[{"filter":{"name":"supposed"}}],"tags":["openshiftClusterID=supposed"]}}`,
	PlatformStatus: `{"cloudName":"openstack","apiServerInternalIPs":["192.0.2.5"],"ingressIPs":["192.0.2.7"],"loadBalancer":{"type":"OpenShiftManagedDefault"}}`,
}
