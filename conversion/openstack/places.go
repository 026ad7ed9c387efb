// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"fmt"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
)

// placeTo converts an interface's network, and its addresses in subnets.
func placeTo(p *pass, m *nic, c *port) {
	if n := m.network(); n != nil {
		networkPlaceTo(p, n, m.first, c)
		return
	}
	o := m.port()
	if o.NetworkID == "" {
		p.Required("networkID", "the port needs a network: give the network's id")
	}
	checkID(p, "networkID", o.NetworkID)
	c.Network = &openstackv1.NetworkParam{ID: &o.NetworkID}
	for i, ip := range o.FixedIPs {
		path := fmt.Sprintf("fixedIPs[%d].subnetID", i)
		if ip.SubnetID == "" {
			p.Required(path, "a fixed address needs its subnet: give the subnet's id")
		}
		checkID(p, path, ip.SubnetID)
		c.FixedIPs = append(c.FixedIPs, openstackv1.FixedIP{Subnet: &openstackv1.SubnetParam{ID: &ip.SubnetID}, IPAddress: orAbsent(ip.IPAddress)})
	}
}

func networkPlaceTo(p *pass, n *networkParam, first int, c *port) {
	for i := range n.Subnets {
		c.FixedIPs = append(c.FixedIPs, openstackv1.FixedIP{Subnet: subnetTo(p.At(fmt.Sprintf("subnets[%d]", first+i)), &n.Subnets[i])})
	}
	if c.Network = networkTo(p, n.UUID, &n.Filter); c.Network == nil {
		impliedPlace(p, n, c)
	}
}

func subnetTo(p *pass, from *machinev1alpha1.SubnetParam) *openstackv1.SubnetParam {
	if id := identify(p, from.UUID, from.Filter.ID, from.Filter != machinev1alpha1.SubnetFilter{ID: from.Filter.ID}); id != nil {
		return &openstackv1.SubnetParam{ID: id}
	}
	var filter openstackv1.SubnetFilter
	SubnetFilters.ToClusterAPI(p.At("filter"), &from.Filter, &filter)
	if filter.IsZero() {
		p.Required("uuid", "name the subnet, by uuid or filter")
	}
	return &openstackv1.SubnetParam{Filter: &filter}
}

// impliedPlace sets the network of a port whose entry of networks names only subnets. The port gets no network if Cluster API's default is the same subnets.
// Otherwise it gets the OpenStackCluster's network.
func impliedPlace(p *pass, n *networkParam, c *port) {
	cl := clusterOf(p)
	switch {
	case len(n.Subnets) == 0:
		p.Required("uuid", "name the network, by uuid or filter, or its subnets")
	case equality.Semantic.DeepEqual(c.FixedIPs, cl.addresses()): // no network is needed: these are Cluster API's default addresses
	case cl.network() != nil:
		c.Network = cl.network()
	default:
		p.Required("uuid", "the network of these subnets is unknown, because the OpenStackCluster names neither its network nor these subnets: give the "+
			"network's uuid"+listSubnets(p, n))
	}
}

// listSubnets returns a second remedy for the end of a message: to list the entry's subnets in the OpenStackCluster, which the provider accepts only at the
// OpenStackCluster's creation. It returns "" if this remedy is not possible.
func listSubnets(p *pass, n *networkParam) string {
	place := placeOfNetwork(p.Env, n)
	if place == nil || p.Env.InfraCluster == nil {
		return ""
	}
	patch, err := json.Marshal(map[string]any{"spec": place})
	if err != nil {
		return ""
	}
	return ". If the cluster's other Machines are in these subnets too, you can list the subnets in spec.subnets of the OpenStackCluster instead. The " +
		"provider accepts this field only when the OpenStackCluster is created, so replace the OpenStackCluster: " + p.Replacement(string(patch))
}

func placeFrom(p *pass, c *port, m *nic) {
	if n := m.network(); n != nil {
		networkPlaceFrom(p, c, n)
		return
	}
	o := m.port()
	if c.Network == nil || c.Network.ID == nil {
		p.Unsupported("network", nil, m.byIDOnly("network"))
	} else {
		o.NetworkID = identifyBack(p.At("network"), c.Network.ID, !c.Network.Filter.IsZero())
	}
	for i, ip := range c.FixedIPs {
		at := p.At(fmt.Sprintf("fixedIPs[%d].subnet", i))
		to := machinev1alpha1.FixedIPs{IPAddress: text(ip.IPAddress)}
		if ip.Subnet == nil || ip.Subnet.ID == nil {
			at.Unsupported("", nil, m.byIDOnly("subnets"))
		} else {
			to.SubnetID = identifyBack(at, ip.Subnet.ID, !ip.Subnet.Filter.IsZero())
		}
		o.FixedIPs = append(o.FixedIPs, to)
	}
}

// byIDOnly returns a reason for a message: why this entry of ports needs an ID, while an entry of networks could have a filter, and why the interface is no
// entry of networks.
func (n *nic) byIDOnly(what string) string {
	if n.bar == "" {
		return "in Machine API this interface is an entry of ports, because it follows another such entry, and an entry of ports names its " + what + " " +
			"only by id: give the id"
	}
	if n.bar == pairsField {
		return "in Machine API an entry of ports names its " + what + " only by id. An entry of networks accepts a filter, but its allowed address pairs " +
			"must be exactly the cluster's virtual addresses (" + n.virtual + "), or none: set these pairs, or give the id"
	}
	return "in Machine API an entry of ports names its " + what + " only by id, and an entry of networks, which accepts a filter, has no field for " + n.bar +
		": give the id"
}

func networkPlaceFrom(p *pass, c *port, n *networkParam) {
	network, ips := c.Network, c.FixedIPs
	if network == nil {
		cl := clusterOf(p)
		switch {
		case len(ips) > 0 && !equality.Semantic.DeepEqual(ips, cl.addresses()):
			p.Unsupported("fixedIPs", nil, "Cluster API puts a port without a network into the OpenStackCluster's subnets, and ignores the port's "+
				"fixedIPs: name the network of the port")
		case len(cl.Spec.Subnets) > 0:
			ips = cl.addresses()
		default:
			network = cl.network()
		}
	}
	if network != nil {
		networkFrom(p.At("network"), network, n)
	}
	for i := range ips {
		n.Subnets = append(n.Subnets, subnetFrom(p.At(fmt.Sprintf("fixedIPs[%d].subnet", i)), ips[i].Subnet))
	}
}

func networkFrom(p *pass, from *openstackv1.NetworkParam, to *networkParam) {
	to.UUID = identifyBack(p, from.ID, !from.Filter.IsZero())
	if from.Filter != nil {
		NetworkFilters.ToMachineAPI(p.At("filter"), from.Filter, &to.Filter)
	}
}

func subnetFrom(p *pass, from *openstackv1.SubnetParam) (to machinev1alpha1.SubnetParam) {
	to.UUID = identifyBack(p, from.ID, !from.Filter.IsZero())
	if from.Filter != nil {
		SubnetFilters.ToMachineAPI(p.At("filter"), from.Filter, &to.Filter)
	}
	return to
}

func pairsTo(p *pass, m *nic, c *port) {
	if n := m.network(); n != nil {
		if !n.NoAllowedAddressPairs {
			c.AllowedAddressPairs = virtual(p)
		}
		return
	}
	for i, pair := range m.port().AllowedAddressPairs {
		if pair.IPAddress == "" {
			p.Required(fmt.Sprintf("allowedAddressPairs[%d].ipAddress", i),
				"Cluster API accepts no allowed address pair without an IP address: give the address")
		}
		c.AllowedAddressPairs = append(c.AllowedAddressPairs, openstackv1.AddressPair{IPAddress: pair.IPAddress, MACAddress: orAbsent(pair.MACAddress)})
	}
}

func pairsFrom(p *pass, c *port, m *nic) {
	if n := m.network(); n != nil {
		n.NoAllowedAddressPairs = len(c.AllowedAddressPairs) == 0 && len(virtual(p)) > 0
		return
	}
	for _, pair := range c.AllowedAddressPairs {
		m.port().AllowedAddressPairs = append(m.port().AllowedAddressPairs, machinev1alpha1.AddressPair{IPAddress: pair.IPAddress, MACAddress: text(pair.MACAddress)})
	}
}

func portTagsTo(p *pass, m *nic, c *port) {
	n := m.network()
	if n == nil {
		c.Tags = distinct(p, "tags", m.port().Tags, sets.New[string]())
		return
	}
	seen := sets.New[string]()
	c.Tags = distinct(p, "portTags", n.PortTags, seen)
	for i := range n.Subnets {
		c.Tags = append(c.Tags, distinct(p, fmt.Sprintf("subnets[%d].portTags", m.first+i), n.Subnets[i].PortTags, seen)...)
	}
}

func portTagsFrom(p *pass, c *port, m *nic) {
	tags := distinct(p, "tags", c.Tags, sets.New[string]())
	if n := m.network(); n != nil {
		n.PortTags = tags
		return
	}
	m.port().Tags = tags
}
