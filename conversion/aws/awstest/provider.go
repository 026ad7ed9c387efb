// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package awstest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// ProviderValues returns makers of valid values for those fields of a providerSpec whose values must obey rules.
func ProviderValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	id := func(r *rand.Rand) any { return new("ami-" + conversiontest.Word(r)) }
	return conversiontest.Values{
		"kind": one(""), "apiVersion": one(""),
		"metadata":                       conversiontest.OneOf(metav1.ObjectMeta{Name: "x"}),
		"ami.id":                         id,
		"ami.filters":                    func(*rand.Rand) any { return []machinev1beta1.Filter(nil) },
		"instanceType":                   one("m6i.large", "c7g.metal", "t3.nano"),
		"cpuOptions.confidentialCompute": one("Disabled", "AMDEncryptedVirtualizationNestedPaging"),
		"iamInstanceProfile.id":          id,
		"userDataSecret":                 conversiontest.OneOf(&corev1.LocalObjectReference{Name: "worker-user-data"}),
		"credentialsSecret":              conversiontest.OneOf(corev1.LocalObjectReference{Name: "aws-cloud-credentials"}),
		"networkInterfaceType":           one("", "ENA", "EFA"),
		"placement.region":               one("", "us-east-1"),
		"placement.tenancy":              one("", "default", "dedicated", "host"),
		"placement.host":                 func(*rand.Rand) any { return (*machinev1beta1.HostPlacement)(nil) },
		"marketType":                     one("", "OnDemand", "Spot", "CapacityBlock"),
		"metadataServiceOptions": conversiontest.OneOf(machinev1beta1.MetadataServiceOptions{},
			machinev1beta1.MetadataServiceOptions{Authentication: "Required"}, machinev1beta1.MetadataServiceOptions{Authentication: "Optional"}),
		"loadBalancers": conversiontest.OneOf(
			[]machinev1beta1.LoadBalancerReference{{Name: "lock-7x2k9-int", Type: "network"}, {Name: "lock-7x2k9-ext", Type: "network"}},
			[]machinev1beta1.LoadBalancerReference{{Name: "lock-7x2k9-ext", Type: "network"}, {Name: "lock-7x2k9-int", Type: "network"}}),
		"placementGroupPartition":                conversiontest.OneOf[int32](1, 7),
		"blockDevices[].ebs.deleteOnTermination": conversiontest.OneOf(true),
		"blockDevices[].ebs.kmsKey.id":           one("", "1234abcd-12ab"),
		"blockDevices[].ebs.kmsKey.arn":          one("", "arn:aws:kms:us-east-1:1:key/1"),
		"blockDevices[].ebs.iops":                conversiontest.OneOf[int64](0, 3000),
		"blockDevices[].ebs.throughputMib":       conversiontest.OneOf[int32](0, 125, 1000),
	}
}

// RepairProvider changes a generated providerSpec so that it also obeys the rules about more than one field.
func RepairProvider(r *rand.Rand, m *machinev1beta1.AWSMachineProviderConfig) {
	for i := range m.Tags {
		m.Tags[i].Name = fmt.Sprintf("%s-%d", m.Tags[i].Name, i)
	}
	repairReference(r, &m.Subnet)
	if m.Subnet.ID == nil && len(m.Subnet.Filters) == 0 {
		m.Subnet.ID = new("subnet-1") // required, because OpenShift's AWSCluster lists no subnets
	}
	if m.PublicIP != nil && *m.PublicIP {
		m.Subnet = machinev1beta1.AWSResourceReference{ID: new(publicSubnet)}
	}
	if m.SpotMarketOptions != nil || m.MarketType == machinev1beta1.MarketTypeSpot {
		m.CapacityReservationID = ""
	}
	for i := range m.SecurityGroups {
		repairReference(r, &m.SecurityGroups[i])
		if g := &m.SecurityGroups[i]; g.ID == nil && len(g.Filters) == 0 {
			g.ID = new("sg-1")
		}
	}
	if m.Placement.Tenancy == machinev1beta1.HostTenancy {
		m.Placement.Host = host(r)
	}
	root := false
	for i := range m.BlockDevices {
		repairDevice(&m.BlockDevices[i], i, &root)
	}
}

func repairReference(r *rand.Rand, ref *machinev1beta1.AWSResourceReference) {
	if ref.ID == nil || len(ref.Filters) == 0 {
		return
	}
	if r.IntN(2) == 0 {
		ref.ID = nil
	} else {
		ref.Filters = nil
	}
}

func repairDevice(d *machinev1beta1.BlockDeviceMappingSpec, i int, root *bool) {
	if d.DeviceName == nil && *root {
		d.DeviceName = new(fmt.Sprintf("/dev/sd%d", i))
	}
	*root = *root || d.DeviceName == nil
	size := int64(8 + i)
	if d.EBS == nil {
		d.EBS = &machinev1beta1.EBSBlockDeviceSpec{}
	}
	d.EBS.VolumeSize = &size
	if text(d.EBS.KMSKey.ID) != "" {
		d.EBS.KMSKey.ARN = nil
	}
}

// host returns a random placement on a host that Cluster API can express, or nil.
func host(r *rand.Rand) *machinev1beta1.HostPlacement {
	provided, dynamic := machinev1beta1.AllocationStrategyUserProvided, machinev1beta1.AllocationStrategyDynamic
	pin, any := machinev1beta1.HostAffinityDedicatedHost, machinev1beta1.HostAffinityAnyAvailable
	id := "h-0123456789abcdef0"
	tags := &machinev1beta1.DynamicHostAllocationSpec{Tags: &[]machinev1beta1.TagSpecification{{Name: "b", Value: "1"}, {Name: "a"}}}
	all := []*machinev1beta1.HostPlacement{
		nil,
		{Affinity: &any, DedicatedHost: &machinev1beta1.DedicatedHost{AllocationStrategy: &provided, ID: id}},
		{Affinity: &pin, DedicatedHost: &machinev1beta1.DedicatedHost{AllocationStrategy: &provided, ID: id}},
		{Affinity: &pin, DedicatedHost: &machinev1beta1.DedicatedHost{ID: id}},
		{Affinity: &pin, DedicatedHost: &machinev1beta1.DedicatedHost{AllocationStrategy: &dynamic}},
		{Affinity: &pin, DedicatedHost: &machinev1beta1.DedicatedHost{AllocationStrategy: &dynamic, DynamicHostAllocation: tags}},
	}
	return all[r.IntN(len(all))]
}

// NormalProvider changes a providerSpec into the form that it has after the round trip. If several forms mean the same, the note in the field's row says
// which one comes back.
func NormalProvider(m *machinev1beta1.AWSMachineProviderConfig) {
	byName := func(a, b machinev1beta1.TagSpecification) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(m.Tags, byName)
	m.CredentialsSecret = &corev1.LocalObjectReference{Name: "aws-cloud-credentials"}
	m.Placement.Region = "us-east-1"
	m.LoadBalancers = []machinev1beta1.LoadBalancerReference{{Name: "lock-7x2k9-int", Type: "network"}, {Name: "lock-7x2k9-ext", Type: "network"}}
	if m.CPUOptions != nil && m.CPUOptions.ConfidentialCompute == nil {
		m.CPUOptions = nil
	}
	if h := m.Placement.Host; h != nil {
		if h.DedicatedHost.AllocationStrategy == nil {
			provided := machinev1beta1.AllocationStrategyUserProvided
			h.DedicatedHost.AllocationStrategy = &provided
		}
		if d := h.DedicatedHost.DynamicHostAllocation; d != nil {
			slices.SortFunc(*d.Tags, byName)
		}
	}
	for i := range m.BlockDevices {
		normalEBS(m.BlockDevices[i].EBS)
	}
	slices.SortStableFunc(m.BlockDevices, func(a, b machinev1beta1.BlockDeviceMappingSpec) int {
		switch {
		case a.DeviceName == nil && b.DeviceName != nil:
			return -1
		case a.DeviceName != nil && b.DeviceName == nil:
			return 1
		}
		return 0
	})
}

func normalEBS(e *machinev1beta1.EBSBlockDeviceSpec) {
	e.DeprecatedDeleteOnTermination = nil
	if e.Iops != nil && *e.Iops == 0 {
		e.Iops = nil
	}
	if e.ThroughputMib != nil && *e.ThroughputMib == 0 {
		e.ThroughputMib = nil
	}
	if text(e.KMSKey.ID) == "" {
		e.KMSKey.ID = nil
	}
	if text(e.KMSKey.ARN) == "" {
		e.KMSKey.ARN = nil
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
