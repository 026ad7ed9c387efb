// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

func testEnv() *conversion.Env {
	return &conversion.Env{
		Platform: Platform(), ClusterName: "ocean", Region: "us-east-1",
		InfraCluster: map[string]any{"spec": map[string]any{
			"controlPlaneLoadBalancer":          map[string]any{"name": "ocean-int", "loadBalancerType": "nlb"},
			"secondaryControlPlaneLoadBalancer": map[string]any{"name": "ocean-ext", "loadBalancerType": "classic"},
		}},
	}
}

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range conversion.Uncovered(Fields) {
		t.Error(problem)
	}
	for _, problem := range conversion.Uncovered(Volumes) {
		t.Error(problem)
	}
}

// there and back share what the core Machine would carry.
func trips(core *conversion.Core) (func(*providerSpec) (*infraSpec, field.ErrorList), func(*infraSpec) (*providerSpec, field.ErrorList)) {
	there := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		p, c := conversion.NewPass(testEnv(), core, ""), &infraSpec{}
		Fields.ToClusterAPI(p, m, c)
		return c, p.Errors()
	}
	back := func(c *infraSpec) (*providerSpec, field.ErrorList) {
		p, m := conversion.NewPass(testEnv(), core, ""), &providerSpec{}
		Fields.ToMachineAPI(p, c, m)
		return m, p.Errors()
	}
	return there, back
}

func TestAProviderSpecComesBack(t *testing.T) {
	core := &conversion.Core{ControlPlane: true, ProviderID: "aws:///us-east-1a/i-0123456789abcdef0"}
	there, back := trips(core)
	conversiontest.Trip[providerSpec, infraSpec]{
		There: there, Back: back, Lines: Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: providerValues(), Repair: repairProvider, Normal: normalProvider,
	}.Run(t)
}

// TestADefaultedInfraSpecComesBack: the API server and the AWS provider's webhooks fill in fields on the way.
func TestADefaultedInfraSpecComesBack(t *testing.T) {
	there, back := trips(&conversion.Core{ControlPlane: true})
	defaulted := func(m *providerSpec) (*infraSpec, field.ErrorList) {
		c, errs := there(m)
		if c.HostAffinity == nil {
			c.HostAffinity = new("default")
		}
		if c.InstanceMetadataOptions != nil {
			c.InstanceMetadataOptions.SetDefaults()
		}
		return c, errs
	}
	conversiontest.Trip[providerSpec, infraSpec]{
		There: defaulted, Back: back, Lines: Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: providerValues(), Repair: repairProvider, Normal: normalProvider, Runs: 300,
	}.Run(t)
}

func TestAnInfraSpecComesBack(t *testing.T) {
	secret := "worker-user-data"
	core := &conversion.Core{ProviderID: "aws:///us-east-1a/i-0123456789abcdef0", FailureDomain: "us-east-1a", BootstrapSecret: &secret}
	there, back := trips(core)
	conversiontest.Trip[infraSpec, providerSpec]{
		There: back, Back: there, Lines: Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: infraValues(), Repair: repairInfra, Normal: normalInfra,
	}.Run(t)
}

func providerValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	id := func(r *rand.Rand) any { return new("ami-" + conversiontest.Word(r)) }
	return conversiontest.Values{
		"kind": one(""), "apiVersion": one(""),
		"metadata":                               conversiontest.OneOf(metav1.ObjectMeta{Name: "x"}),
		"ami.id":                                 id,
		"cpuOptions.confidentialCompute":         one("Disabled", "AMDEncryptedVirtualizationNestedPaging"),
		"iamInstanceProfile.id":                  id,
		"userDataSecret":                         conversiontest.OneOf(&corev1.LocalObjectReference{Name: "worker-user-data"}),
		"credentialsSecret":                      conversiontest.OneOf(corev1.LocalObjectReference{Name: "aws-cloud-credentials"}),
		"networkInterfaceType":                   one("", "ENA", "EFA"),
		"placement.region":                       one("", "us-east-1"),
		"placement.tenancy":                      one("", "default", "dedicated", "host"),
		"placement.host":                         func(*rand.Rand) any { return (*machinev1beta1.HostPlacement)(nil) },
		"marketType":                             one("", "OnDemand", "Spot", "CapacityBlock"),
		"metadataServiceOptions":                 conversiontest.OneOf(machinev1beta1.MetadataServiceOptions{}, machinev1beta1.MetadataServiceOptions{Authentication: "Required"}, machinev1beta1.MetadataServiceOptions{Authentication: "Optional"}),
		"loadBalancers":                          conversiontest.OneOf([]machinev1beta1.LoadBalancerReference{{Name: "ocean-int", Type: "network"}, {Name: "ocean-ext", Type: "classic"}}, []machinev1beta1.LoadBalancerReference{{Name: "ocean-ext", Type: "classic"}, {Name: "ocean-int", Type: "network"}}),
		"placementGroupPartition":                conversiontest.OneOf[int32](1, 7),
		"blockDevices[].ebs.deleteOnTermination": conversiontest.OneOf(true),
		"blockDevices[].ebs.kmsKey.id":           one("", "1234abcd-12ab"),
		"blockDevices[].ebs.kmsKey.arn":          one("", "arn:aws:kms:us-east-1:1:key/1"),
		"blockDevices[].ebs.iops":                conversiontest.OneOf[int64](0, 3000),
	}
}

func repairProvider(r *rand.Rand, m *providerSpec) {
	for i := range m.Tags {
		m.Tags[i].Name = fmt.Sprintf("%s-%d", m.Tags[i].Name, i)
	}
	repairReference(r, &m.Subnet)
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
	ebs(d).VolumeSize = &size
	if text(d.EBS.KMSKey.ID) != "" {
		d.EBS.KMSKey.ARN = nil
	}
}

// host makes a placement that Cluster API can say, of each kind.
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

// normalProvider: the forms that mean the same, each as its row says.
func normalProvider(m *providerSpec) {
	byName := func(a, b machinev1beta1.TagSpecification) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(m.Tags, byName)
	m.CredentialsSecret = &corev1.LocalObjectReference{Name: "aws-cloud-credentials"}
	m.Placement.Region = "us-east-1"
	m.LoadBalancers = []machinev1beta1.LoadBalancerReference{{Name: "ocean-int", Type: "network"}, {Name: "ocean-ext", Type: "classic"}}
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
	if text(e.KMSKey.ID) == "" {
		e.KMSKey.ID = nil
	}
	if text(e.KMSKey.ARN) == "" {
		e.KMSKey.ARN = nil
	}
}

func infraValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	size := conversiontest.OneOf[int64](8, 120)
	return conversiontest.Values{
		"providerID":                               one("aws:///us-east-1a/i-0123456789abcdef0"),
		"instanceID":                               one("i-0123456789abcdef0"),
		"ami.id":                                   conversiontest.OneOf(new("ami-1")),
		"cpuOptions.confidentialCompute":           one("", "Disabled", "AMDEncryptedVirtualizationNestedPaging"),
		"additionalTags.key":                       conversiontest.OneOf("a", "b", "c", "kubernetes.io/cluster/x"),
		"networkInterfaceType":                     one("", "interface", "efa"),
		"tenancy":                                  one("", "default", "dedicated", "host"),
		"marketType":                               one("", "OnDemand", "Spot", "CapacityBlock"),
		"hostAffinity":                             one("default"),
		"hostID":                                   func(*rand.Rand) any { return (*string)(nil) },
		"dynamicHostAllocation":                    func(*rand.Rand) any { return (*awsv1.DynamicHostAllocationSpec)(nil) },
		"ignition.storageType":                     one("UnencryptedUserData"),
		"ignition.version":                         one("3.4"),
		"instanceMetadataOptions.httpTokens":       one("", "optional", "required"),
		"instanceMetadataOptions.httpEndpoint":     one("", "enabled", "disabled"),
		"instanceMetadataOptions.httpProtocolIpv6": one("", "enabled", "disabled"),
		"instanceMetadataOptions.httpPutResponseHopLimit": conversiontest.OneOf[int64](0, 1, 2),
		"instanceMetadataOptions.instanceMetadataTags":    one("", "enabled", "disabled"),
		"placementGroupPartition":                         conversiontest.OneOf[int64](0, 1, 7),
		"capacityReservationId":                           one("cr-1"),
		"rootVolume.deviceName":                           one(""),
		"rootVolume.size":                                 size, "nonRootVolumes[].size": size,
		"rootVolume.encryptionKey":       one("", "1234", "arn:aws:kms:us-east-1:1:key/1"),
		"nonRootVolumes[].encryptionKey": one("", "1234", "arn:aws:kms:us-east-1:1:key/1"),
	}
}

func repairInfra(r *rand.Rand, c *infraSpec) {
	if c.Ignition == nil {
		c.Ignition = &awsv1.Ignition{StorageType: awsv1.IgnitionStorageTypeOptionUnencryptedUserData, Version: "3.4"}
	}
	for i := range c.AdditionalSecurityGroups {
		repairInfraReference(r, &c.AdditionalSecurityGroups[i])
		if g := &c.AdditionalSecurityGroups[i]; g.ID == nil && len(g.Filters) == 0 {
			g.ID = new("sg-1")
		}
	}
	if c.Subnet != nil {
		repairInfraReference(r, c.Subnet)
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
	if ref.ID == nil || len(ref.Filters) == 0 {
		return
	}
	if r.IntN(2) == 0 {
		ref.ID = nil
	} else {
		ref.Filters = nil
	}
}

// normalInfra: what the API server's defaults and the controllers would make of it anyway.
func normalInfra(c *infraSpec) {
	c.ProviderID, c.InstanceID = new("aws:///us-east-1a/i-0123456789abcdef0"), new("i-0123456789abcdef0")
	if c.Subnet != nil && c.Subnet.ID == nil && len(c.Subnet.Filters) == 0 {
		c.Subnet = nil
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
