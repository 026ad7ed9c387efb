// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

// Platform returns the conversion for AWS: between OpenShift's providerSpec and the AWS provider's v1beta2 objects.
func Platform() conversion.Platform {
	spec := machinev1beta1.GroupVersion.WithKind("AWSMachineProviderConfig")
	return conversion.Platform{
		Name:                 string(configv1.AWSPlatformType),
		InfraMachine:         conversion.Resource{GroupVersionKind: awsv1.GroupVersion.WithKind("AWSMachine"), Plural: "awsmachines"},
		InfraMachineTemplate: conversion.Resource{GroupVersionKind: awsv1.GroupVersion.WithKind("AWSMachineTemplate"), Plural: "awsmachinetemplates"},
		InfraCluster:         conversion.Resource{GroupVersionKind: awsv1.GroupVersion.WithKind("AWSCluster"), Plural: "awsclusters"},
		ProviderSpec:         spec,
		ProviderStatus:       providerStatusKind,
		CredentialsSecret:    "aws-cloud-credentials",
		InstanceID:           "aws:///ZONE/INSTANCE",
		Spec:                 conversion.Untyped(Fields, spec),
		Editable: conversion.Editable{Machine: []string{
			"providerID", "instanceID", "additionalTags", "additionalSecurityGroups",
			"cloudInit.secretPrefix", "cloudInit.secretCount", "cloudInit.secureSecretsBackend",
			"privateDnsName.enableResourceNameDnsAAAARecord", "privateDnsName.enableResourceNameDnsARecord",
		}},
		Interruptible: interruptible,
		Status:        status{},
		Supposed:      supposed,
	}
}

// interruptible reports whether a spec requests a spot instance. spec is a providerSpec or the spec of an AWSMachine.
func interruptible(spec any) bool {
	switch s := spec.(type) {
	case *providerSpec:
		return s.SpotMarketOptions != nil || s.MarketType == machinev1beta1.MarketTypeSpot
	case *infraSpec:
		return s.SpotMarketOptions != nil || s.MarketType == awsv1.MarketTypeSpot
	}
	return false
}

// supposed is the value of Platform.Supposed, with names that no cluster has.
var supposed = conversion.Supposition{
	InfraCluster: `{"spec":{"region":"supposed","controlPlaneLoadBalancer":{"name":"supposed-int","loadBalancerType":"nlb"},
		"secondaryControlPlaneLoadBalancer":{"name":"supposed-ext","loadBalancerType":"nlb"}}}`,
}
