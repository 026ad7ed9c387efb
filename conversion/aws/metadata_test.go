// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

// TestTheProviderSetsAllOfTheMetadataService: what the guide says of it. The provider's controller sets the whole on instances that run.
func TestTheProviderSetsAllOfTheMetadataService(t *testing.T) {
	for text, tokens := range map[machinev1beta1.MetadataServiceAuthentication]awsv1.HTTPTokensState{
		"": awsv1.HTTPTokensStateOptional,
		machinev1beta1.MetadataServiceAuthenticationOptional: awsv1.HTTPTokensStateOptional,
		machinev1beta1.MetadataServiceAuthenticationRequired: awsv1.HTTPTokensStateRequired,
	} {
		m, c := providerSpec{MetadataServiceOptions: machinev1beta1.MetadataServiceOptions{Authentication: text}}, infraSpec{}
		metadataTo(conversion.NewPass(testEnv(), &conversion.Core{}, ""), &m, &c)
		awsv1.SetDefaults_AWSMachineSpec(&c)
		want := &awsv1.InstanceMetadataOptions{
			HTTPEndpoint: awsv1.InstanceMetadataEndpointStateEnabled, HTTPTokens: tokens, HTTPPutResponseHopLimit: 1,
			HTTPProtocolIPv6: awsv1.InstanceMetadataEndpointStateDisabled, InstanceMetadataTags: awsv1.InstanceMetadataEndpointStateDisabled,
		}
		if diff := cmp.Diff(want, c.InstanceMetadataOptions); diff != "" {
			t.Errorf("authentication %q (-want +is):\n%s", text, diff)
		}
	}
}
