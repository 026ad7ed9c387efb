// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstacktest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// FailureDomain and ProviderID are the values of the Machine to which a generated OpenStackMachine belongs.
const (
	FailureDomain = "nova"
	ProviderID    = "openstack:///7d8a1f5e-3c11-4c0e-9f2b-0d4c3c8f6a10"
)

type zone = openstackv1.VolumeAvailabilityZone

// InfraValues returns makers of valid values for those fields of an OpenStackMachine's spec whose values must obey rules.
func InfraValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	zones := func(r *rand.Rand) any {
		name := openstackv1.VolumeAZName("cinder-1")
		return []*zone{nil, {From: openstackv1.VolumeAZFromName, Name: &name}, {Name: &name}, {From: openstackv1.VolumeAZFromMachine}}[r.IntN(4)]
	}
	tags := func(r *rand.Rand) any {
		return [][]openstackv1.NeutronTag{nil, {}, {"a"}, {"b", "a"}, {"c=d", "e f", "g"}}[r.IntN(5)]
	}
	out := conversiontest.Values{
		"providerID":            one(ProviderID),
		"identityRef.type":      one("Secret", ""),
		"identityRef.name":      one("openstack-cloud-credentials", "mine"),
		"identityRef.cloudName": one("openstack", "theirs"),
		"serverGroup.id":        ID, "image.id": ID,
		"serverMetadata[].value":                                   one("", "x", "y"),
		"rootVolume.availabilityZone":                              zones,
		"additionalBlockDevices[].storage.type":                    one("Volume", "Local"),
		"ports[].profile.ovsHWOffload":                             conversiontest.OneOf(true),
		"additionalBlockDevices[].storage.volume.availabilityZone": zones,
	}
	for _, param := range []string{"securityGroups[]", "ports[].securityGroups[]", "ports[].network", "ports[].fixedIPs[].subnet"} {
		out[param+".id"] = ID
		for _, list := range []string{"tags", "tagsAny", "notTags", "notTagsAny"} {
			out[param+".filter."+list] = tags
		}
	}
	return out
}

// RepairInfra changes an OpenStackMachine's generated spec so that it also obeys the rules about more than one field. It also changes the ports so that
// Machine API can express them in its lists networks and ports.
func RepairInfra(r *rand.Rand, c *openstackv1.OpenStackMachineSpec) {
	if c.Flavor == nil {
		c.Flavor = new("m1.large")
	}
	c.Tags = distinct(c.Tags, "")
	repairImage(r, c)
	if g := c.ServerGroup; g != nil {
		*g = openstackv1.ServerGroupParam{Filter: &openstackv1.ServerGroupFilter{Name: new("x")}}
		if r.IntN(2) == 0 {
			*g = openstackv1.ServerGroupParam{ID: new(randomID(r))}
		}
	}
	for i := range c.ServerMetadata {
		c.ServerMetadata[i].Key += fmt.Sprint("-", i)
	}
	for i := range c.SecurityGroups {
		repairInfraGroup(r, &c.SecurityGroups[i])
	}
	networks := r.IntN(len(c.Ports) + 1)
	for i := range c.Ports {
		repairPort(r, &c.Ports[i], i < networks)
	}
	repairInfraGroups(r, c, networks)
	for i := range c.AdditionalBlockDevices {
		repairDevice(&c.AdditionalBlockDevices[i], i)
	}
}

func repairImage(r *rand.Rand, c *openstackv1.OpenStackMachineSpec) {
	switch {
	case c.Image.ImageRef != nil:
		c.Image = openstackv1.ImageParam{ImageRef: c.Image.ImageRef}
	case c.Image.Filter != nil && len(c.Image.Filter.Tags) > 0:
		c.Image.ID = nil
	case c.RootVolume != nil && r.IntN(2) == 0:
		c.Image = openstackv1.ImageParam{ID: new(randomID(r))}
	default:
		c.Image = openstackv1.ImageParam{Filter: &openstackv1.ImageFilter{Name: new("rhcos")}}
	}
}

func repairDevice(d *openstackv1.AdditionalBlockDevice, i int) {
	d.Name += fmt.Sprint("-", i)
	if d.Storage.Type == openstackv1.LocalBlockDevice {
		d.Storage.Volume = nil
		return
	}
	if d.Storage.Volume == nil {
		d.Storage.Volume = &openstackv1.BlockDeviceVolume{}
	}
	if d.Storage.Volume.AvailabilityZone == nil {
		d.Storage.Volume.AvailabilityZone = &zone{From: openstackv1.VolumeAZFromMachine}
	}
}

// repairPort changes a port so that Machine API can express it: as an entry of networks if network is true, otherwise as an entry of ports.
func repairPort(r *rand.Rand, p *openstackv1.PortOpts, network bool) {
	p.Tags = distinct(p.Tags, "")
	for i := range p.FixedIPs {
		ip := &p.FixedIPs[i]
		if ip.Subnet == nil {
			ip.Subnet = &openstackv1.SubnetParam{}
		}
		byFilter := network && !ip.Subnet.Filter.IsZero() && r.IntN(2) == 0
		ip.Subnet.ID, ip.Subnet.Filter = either(r, byFilter, ip.Subnet.Filter)
		if network {
			ip.IPAddress = nil
		}
	}
	if p.Network == nil && (!network || len(p.FixedIPs) > 0) {
		p.Network = &openstackv1.NetworkParam{}
	}
	if p.Network != nil {
		byFilter := network && !p.Network.Filter.IsZero() && r.IntN(2) == 0
		p.Network.ID, p.Network.Filter = either(r, byFilter, p.Network.Filter)
	}
	if !network {
		p.NameSuffix = new("radio")
		return
	}
	p.NameSuffix, p.Description, p.MACAddress, p.AdminStateUp, p.Trunk, p.AllowedAddressPairs = nil, nil, nil, nil, nil, nil
	if r.IntN(2) == 0 {
		p.AllowedAddressPairs = []openstackv1.AddressPair{{IPAddress: "10.0.0.5"}, {IPAddress: "10.0.0.7"}}
	}
}

// either returns no ID and the filter if byFilter is true. Otherwise it returns a random ID and no filter.
func either[F any](r *rand.Rand, byFilter bool, filter *F) (*string, *F) {
	if byFilter {
		return nil, filter
	}
	return new(randomID(r)), nil
}

func repairInfraGroup(r *rand.Rand, g *openstackv1.SecurityGroupParam) {
	g.ID, g.Filter = either(r, !g.Filter.IsZero() && r.IntN(2) == 0, g.Filter)
}

// repairInfraGroups gives security groups either to the machine or to each port. If it gives them to the ports, all ports that are to become entries of
// networks get the same groups, and each other port gets another group, by ID.
func repairInfraGroups(r *rand.Rand, c *openstackv1.OpenStackMachineSpec, networks int) {
	common := slices.Clone(c.SecurityGroups)
	if len(common) == 0 {
		common = []openstackv1.SecurityGroupParam{{ID: new(randomID(r))}}
	}
	whole := networks == 0 || r.IntN(2) == 0
	apart := false
	for i := range c.Ports {
		p := &c.Ports[i]
		p.SecurityGroups = nil
		switch unsecured := p.DisablePortSecurity != nil && *p.DisablePortSecurity; {
		case whole && len(c.SecurityGroups) > 0:
			p.DisablePortSecurity = nil
		case whole || unsecured:
			apart = apart || unsecured
		case i < networks:
			p.SecurityGroups = slices.Clone(common)
		default:
			p.SecurityGroups, apart = []openstackv1.SecurityGroupParam{{ID: new(randomID(r))}}, true
		}
	}
	if whole || len(c.Ports) == 0 {
		return
	}
	c.SecurityGroups = nil
	if !apart { // all ports have the same groups, so the conversion gives them to the machine
		c.SecurityGroups = common
		for i := range c.Ports {
			c.Ports[i].SecurityGroups = nil
		}
	}
}

// NormalInfra changes an OpenStackMachine's spec into the form that it has after the round trip. That form has the values that the API server or the
// OpenStackCluster gives to absent fields.
func NormalInfra(c *openstackv1.OpenStackMachineSpec) {
	c.ProviderID = new(ProviderID)
	if ref := c.IdentityRef; ref != nil {
		ref.Type = "Secret"
		if ref.Name == "openstack-cloud-credentials" && ref.CloudName == "openstack" {
			c.IdentityRef = nil
		}
	}
	if !slices.Contains(c.Tags, clusterTag) {
		c.Tags = append(c.Tags, clusterTag)
	}
	slices.SortFunc(c.ServerMetadata, func(a, b openstackv1.ServerMetadata) int { return strings.Compare(a.Key, b.Key) })
	plain := openstackv1.PortOpts{FixedIPs: []openstackv1.FixedIP{{Subnet: &openstackv1.SubnetParam{Filter: &openstackv1.SubnetFilter{
		Name: nodes, FilterByNeutronTags: openstackv1.FilterByNeutronTags{Tags: []openstackv1.NeutronTag{clusterTag}},
	}}}}}
	for i := range c.Ports {
		p := &c.Ports[i]
		if p.Network == nil {
			p.FixedIPs = plain.FixedIPs
		}
		if p.Profile != nil && *p.Profile == (openstackv1.BindingProfile{}) {
			p.Profile = nil
		}
	}
	if len(c.Ports) == 1 && equality.Semantic.DeepEqual(c.Ports[0], plain) {
		c.Ports = nil
	}
	if v := c.RootVolume; v != nil {
		v.AvailabilityZone = normalZone(v.AvailabilityZone)
		if z := v.AvailabilityZone; z != nil && z.From == openstackv1.VolumeAZFromMachine {
			*z = zone{From: openstackv1.VolumeAZFromName, Name: new(openstackv1.VolumeAZName(FailureDomain))}
		}
	}
	for i := range c.AdditionalBlockDevices {
		if v := c.AdditionalBlockDevices[i].Storage.Volume; v != nil {
			v.AvailabilityZone = normalZone(v.AvailabilityZone)
		}
	}
}

func normalZone(z *zone) *zone {
	if z != nil && z.From == "" {
		z.From = openstackv1.VolumeAZFromName
	}
	return z
}
