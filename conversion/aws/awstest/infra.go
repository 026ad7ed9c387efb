// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package awstest

import (
	"math/rand/v2"

	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// InfraValues returns makers of valid values for those fields of an AWSMachine's spec whose values must obey rules.
func InfraValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	size := conversiontest.OneOf[int64](8, 120)
	return conversiontest.Values{
		"providerID":                               one("aws:///us-east-1a/i-0123456789abcdef0"),
		"instanceID":                               one("i-0123456789abcdef0"),
		"instanceType":                             one("m6i.large", "c7g.metal", "t3.nano"),
		"ami.id":                                   conversiontest.OneOf(new("ami-1")),
		"cpuOptions.confidentialCompute":           one("", "Disabled", "AMDEncryptedVirtualizationNestedPaging"),
		"additionalTags.key":                       conversiontest.OneOf("a", "b", "c", "team"),
		"networkInterfaceType":                     one("", "interface", "efa"),
		"tenancy":                                  one("", "default", "dedicated", "host"),
		"marketType":                               one("", "OnDemand", "Spot", "CapacityBlock"),
		"hostAffinity":                             one("default"),
		"hostID":                                   func(*rand.Rand) any { return (*string)(nil) },
		"dynamicHostAllocation":                    func(*rand.Rand) any { return (*awsv1.DynamicHostAllocationSpec)(nil) },
		"uncompressedUserData":                     func(*rand.Rand) any { return (*bool)(nil) }, // no effect, because there is always Ignition
		"ignition.storageType":                     one("UnencryptedUserData"),
		"ignition.version":                         one("", "2.3", "3.2", "3.4"),
		"instanceMetadataOptions.httpTokens":       one("", "optional", "required"),
		"instanceMetadataOptions.httpEndpoint":     one("", "enabled", "disabled"),
		"instanceMetadataOptions.httpProtocolIpv6": one("", "disabled"), // other values of this field and the next two are for dual stack only
		"assignPrimaryIPv6":                        func(*rand.Rand) any { return (*awsv1.PrimaryIPv6AssignmentState)(nil) },
		"privateDnsName":                           func(*rand.Rand) any { return (*awsv1.PrivateDNSName)(nil) },
		"instanceMetadataOptions.httpPutResponseHopLimit": conversiontest.OneOf[int64](0, 1, 2),
		"instanceMetadataOptions.instanceMetadataTags":    one("", "enabled", "disabled"),
		"rootVolume.throughput":                           conversiontest.OneOf[int64](125, 1000),
		"nonRootVolumes[].throughput":                     conversiontest.OneOf[int64](125, 1000),
		"placementGroupPartition":                         conversiontest.OneOf[int64](0, 1, 7),
		"capacityReservationId":                           one("cr-1"),
		"rootVolume.deviceName":                           one(""),
		"rootVolume.size":                                 size, "nonRootVolumes[].size": size,
		"rootVolume.encryptionKey":       one("", "1234", "arn:aws:kms:us-east-1:1:key/1"),
		"nonRootVolumes[].encryptionKey": one("", "1234", "arn:aws:kms:us-east-1:1:key/1"),
	}
}

// RepairInfra changes an AWSMachine's generated spec so that it also obeys the rules about more than one field.
func RepairInfra(r *rand.Rand, c *awsv1.AWSMachineSpec) {
	if c.Ignition == nil {
		c.Ignition = &awsv1.Ignition{StorageType: awsv1.IgnitionStorageTypeOptionUnencryptedUserData, Version: "3.4"}
	}
	for i := range c.AdditionalSecurityGroups {
		repairInfraReference(r, &c.AdditionalSecurityGroups[i])
		if g := &c.AdditionalSecurityGroups[i]; g.ID == nil && len(g.Filters) == 0 {
			g.ID = new("sg-1")
		}
	}
	if c.Subnet == nil {
		c.Subnet = &awsv1.AWSResourceReference{}
	}
	repairInfraReference(r, c.Subnet)
	if c.Subnet.ID == nil && len(c.Subnet.Filters) == 0 {
		c.Subnet.ID = new("subnet-1") // required, because OpenShift's AWSCluster lists no subnets
	}
	if c.PublicIP != nil && *c.PublicIP {
		c.Subnet = &awsv1.AWSResourceReference{ID: new(publicSubnet)}
	}
	if c.SpotMarketOptions != nil || c.MarketType == awsv1.MarketTypeSpot {
		c.CapacityReservationID = nil
	}
	if c.Tenancy != "host" {
		return
	}
	switch r.IntN(4) {
	case 0:
		c.HostID = new("h-0123456789abcdef0")
	case 1:
		c.HostID, c.HostAffinity = new("h-0123456789abcdef0"), new("host")
	case 2:
		c.DynamicHostAllocation, c.HostAffinity = &awsv1.DynamicHostAllocationSpec{Tags: map[string]string{"a": "b", "c": ""}}, new("host")
	}
}

func repairInfraReference(r *rand.Rand, ref *awsv1.AWSResourceReference) {
	for i := range ref.Filters {
		if ref.Filters[i].Values == nil {
			ref.Filters[i].Values = []string{}
		}
	}
	if ref.ID == nil || len(ref.Filters) == 0 {
		return
	}
	if r.IntN(2) == 0 {
		ref.ID = nil
	} else {
		ref.Filters = nil
	}
}

// NormalInfra changes an AWSMachine's spec into the form that it has after the round trip. That form has the API server's defaults and the values that the
// controllers set.
func NormalInfra(c *awsv1.AWSMachineSpec) {
	c.ProviderID, c.InstanceID = new("aws:///us-east-1a/i-0123456789abcdef0"), new("i-0123456789abcdef0")
	if c.Subnet != nil && c.Subnet.ID == nil && len(c.Subnet.Filters) == 0 {
		c.Subnet = nil
	}
	if c.Ignition != nil {
		c.Ignition.Version = "3.4" // the conversion writes this version, because with this storageType the provider does not read it
	}
	if c.HostID == nil && c.DynamicHostAllocation == nil {
		c.HostAffinity = nil
	} else if c.HostAffinity == nil {
		c.HostAffinity = new("default")
	}
	if o := c.InstanceMetadataOptions; o != nil {
		if o.HTTPTokens == "" {
			o.HTTPTokens = awsv1.HTTPTokensStateOptional
		}
		c.InstanceMetadataOptions = &awsv1.InstanceMetadataOptions{HTTPTokens: o.HTTPTokens}
	}
}
