// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
)

// dualStack reports whether the cluster's machines have IPv4 and IPv6 addresses. Machine API's controllers read this from the Infrastructure and configure
// each machine accordingly. Cluster API's controllers need fields in each AWSMachine.
func dualStack(p *pass) bool {
	family := configv1.IPFamilyType(p.Env.PlatformStatus("ipFamily"))
	return family == configv1.DualStackIPv4Primary || family == configv1.DualStackIPv6Primary
}

// dualStackNames returns the settings for an instance's host name in a cluster with IPv4 and IPv6 addresses. In such a cluster the name cannot be made from
// an IPv4 address.
func dualStackNames() *awsv1.PrivateDNSName {
	return &awsv1.PrivateDNSName{HostnameType: ptr.To("resource-name"), EnableResourceNameDNSARecord: ptr.To(true), EnableResourceNameDNSAAAARecord: ptr.To(true)}
}

func dualStackTo(p *pass, _ *providerSpec, c *infraSpec) {
	if !dualStack(p) {
		return
	}
	c.AssignPrimaryIPv6 = ptr.To(awsv1.PrimaryIPv6AssignmentStateEnabled)
	c.PrivateDNSName = dualStackNames()
	if c.InstanceMetadataOptions == nil {
		c.InstanceMetadataOptions = &awsv1.InstanceMetadataOptions{HTTPTokens: awsv1.HTTPTokensStateOptional}
	}
	c.InstanceMetadataOptions.HTTPProtocolIPv6 = awsv1.InstanceMetadataEndpointStateEnabled
	knowsFamilies(p)
}

// knowsFamilies reports an error if the AWSCluster lacks spec.network.vpc.ipv6, because the provider would then create no instance with a primary IPv6
// address. A Machine that has an instance is not checked, because it needs no new instance.
func knowsFamilies(p *pass) {
	if p.Env.InfraCluster == nil || !p.Core.Template && p.Core.ProviderID != "" {
		return
	}
	if ipv6, _, _ := unstructured.NestedFieldNoCopy(p.Env.InfraCluster, "spec", "network", "vpc", "ipv6"); ipv6 != nil {
		return
	}
	p.Amend("spec.network.vpc.ipv6", nil, fmt.Sprintf("The Infrastructure's ipFamily is %s, but Cluster API would create no machine with an IPv6 address, "+
		"because the AWSCluster does not say that the VPC has IPv6 addresses. Set this field",
		p.Env.PlatformStatus("ipFamily")), `{"spec":{"network":{"vpc":{"ipv6":{}}}}}`, "")
}

// resourceNames reports whether an instance has the host name settings of a cluster with IPv4 and IPv6 addresses. Absent DNS records count as set, because
// the provider's webhook lets a user set them later.
func resourceNames(n *awsv1.PrivateDNSName) bool {
	return text(n.HostnameType) == "resource-name" && ptr.Deref(n.EnableResourceNameDNSARecord, true) && ptr.Deref(n.EnableResourceNameDNSAAAARecord, true)
}

// dualStackFrom accepts the fields that dualStackTo writes, and also their absence: a Machine that is older than the cluster's second address family has none
// of them.
func dualStackFrom(p *pass, c *infraSpec, _ *providerSpec) {
	dual := dualStack(p)
	refuse := func(path string, have, want any) {
		if !dual {
			p.Unsupported(path, have,
				"Machine API makes this setting only if the Infrastructure's ipFamily is DualStackIPv4Primary or DualStackIPv6Primary: leave this field out")
			return
		}
		p.Unsupported(path, have, fmt.Sprintf(
			"the Infrastructure's ipFamily is %s, and with this ipFamily Machine API makes the same setting for each machine: set this field to %v",
			p.Env.PlatformStatus("ipFamily"), want))
	}
	if s := c.AssignPrimaryIPv6; s != nil && !(dual && *s == awsv1.PrimaryIPv6AssignmentStateEnabled) {
		refuse("assignPrimaryIPv6", string(*s), awsv1.PrimaryIPv6AssignmentStateEnabled)
	}
	if n := c.PrivateDNSName; n != nil && !(dual && resourceNames(n)) {
		want, _ := json.Marshal(dualStackNames())
		refuse("privateDnsName", text(n.HostnameType), string(want))
	}
	if o := c.InstanceMetadataOptions; o != nil {
		switch o.HTTPProtocolIPv6 {
		case "", awsv1.InstanceMetadataEndpointStateDisabled: // the CRD's default
		case awsv1.InstanceMetadataEndpointStateEnabled:
			if !dual {
				refuse("instanceMetadataOptions.httpProtocolIpv6", string(o.HTTPProtocolIPv6), nil)
			}
		default:
			refuse("instanceMetadataOptions.httpProtocolIpv6", string(o.HTTPProtocolIPv6), awsv1.InstanceMetadataEndpointStateEnabled)
		}
	}
}
