// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"slices"
	"strings"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

type (
	networkParam = machinev1alpha1.NetworkParam
	portOpts     = machinev1alpha1.PortOpts
	port         = openstackv1.PortOpts
	groups       = []openstackv1.SecurityGroupParam
)

// nic is one interface of the Machine API. It has one entry, in one of the Machine API's two lists; the other list is empty.
type nic struct {
	Networks []networkParam `json:"networks,omitempty"`
	Ports    []portOpts     `json:"ports,omitempty"`

	// first is the index that the entry's first subnet has in the providerSpec. It may be greater than 0 for an interface of perPort.
	first int
	// bar and virtual are for messages about an entry of ports. bar is the field that keeps the interface from being an entry of networks; "" if it could be
	// one, but follows an interface that cannot. virtual lists the addresses that the port of an entry of networks allows.
	bar, virtual string
}

// network returns the entry of networks; nil if the interface is an entry of ports.
func (n *nic) network() *networkParam {
	if len(n.Networks) == 0 {
		return nil
	}
	return &n.Networks[0]
}

// port returns the entry of ports; nil if the interface is an entry of networks.
func (n *nic) port() *portOpts {
	if len(n.Ports) == 0 {
		return nil
	}
	return &n.Ports[0]
}

func interfacesTo(p *pass, m *providerSpec, c *infraSpec) {
	if len(m.Networks)+len(m.Ports) == 0 {
		p.Required("networks", "name the network: without it Machine API takes the project's only network, and Cluster API the OpenStackCluster's")
	}
	for i := range m.Networks {
		for _, n := range perPort(p, m.Networks[i]) {
			c.Ports = append(c.Ports, interfaceTo(p.At(fmt.Sprintf("networks[%d]", i)), n))
		}
	}
	for i := range m.Ports {
		c.Ports = append(c.Ports, interfaceTo(p.At(fmt.Sprintf("ports[%d]", i)), nic{Ports: m.Ports[i : i+1]}))
	}
	groupsTo(p, m, c)
	if ips := clusterOf(p).addresses(); len(c.Ports) == 1 && len(ips) > 0 && equality.Semantic.DeepEqual(c.Ports[0], port{FixedIPs: ips}) {
		c.Ports = nil // without ports Cluster API makes exactly this one
	}
}

// perPort returns the interfaces that Machine API makes for an entry of networks. That is one, but one for each subnet if the entry does not name the network
// itself.
func perPort(p *pass, n networkParam) []nic {
	named := networkTo(conversion.NewPass(p.Env, p.Core, ""), n.UUID, &n.Filter) != nil
	if named || len(n.Subnets) < 2 {
		return []nic{{Networks: []networkParam{n}}}
	}
	var out []nic
	for i := range n.Subnets {
		one := n
		one.Subnets = n.Subnets[i : i+1]
		out = append(out, nic{Networks: []networkParam{one}, first: i})
	}
	return out
}

func interfaceTo(p *pass, n nic) port {
	var out port
	Interfaces.ToClusterAPI(p, &n, &out)
	return out
}

// groupsTo writes the providerSpec's security groups to the OpenStackMachine or, if some port has other groups or no port security, to each port that gets them
// in Machine API. The latter is necessary because Cluster API adds the machine's groups to those of each port, and creates no server if a port without port
// security would get groups.
func groupsTo(p *pass, m *providerSpec, c *infraSpec) {
	checkManaged(p)
	var all groups
	for i := range m.SecurityGroups {
		var to openstackv1.SecurityGroupParam
		SecurityGroups.ToClusterAPI(p.At(fmt.Sprintf("securityGroups[%d]", i)), &m.SecurityGroups[i], &to)
		all = append(all, to)
	}
	switch {
	case !slices.ContainsFunc(c.Ports, apart):
		c.SecurityGroups = all
	case len(all) > 0 && !slices.ContainsFunc(c.Ports, takes):
		p.Invalid("securityGroups", nil, "no interface uses these groups, because each interface has its own groups or no port security: remove them")
	default:
		hand(c.Ports, all)
		collect(c, vips{all: virtual(p)})
	}
}

// hand writes the machine's security groups to each port that gets them in Machine API.
func hand(ports []port, all groups) {
	for i, c := range ports {
		if takes(c) {
			ports[i].SecurityGroups = slices.Clone(all)
		}
	}
}

// collect moves security groups that all ports have to the machine, if all ports become entries of networks on the way back. Such an entry has no groups but
// the machine's.
func collect(c *infraSpec, pairs vips) {
	all := c.Ports[0].SecurityGroups
	for _, c := range c.Ports {
		if len(all) == 0 || bar(c, pairs) != "" || unsecured(c) || !equality.Semantic.DeepEqual(c.SecurityGroups, all) {
			return
		}
	}
	c.SecurityGroups = all
	for i := range c.Ports {
		c.Ports[i].SecurityGroups = nil
	}
}

// unsecured reports whether a port has no port security, and therefore no security groups.
func unsecured(c port) bool { return yes(c.DisablePortSecurity) }

// apart reports whether a port has security groups of its own, or none, so that it does not get the machine's.
func apart(c port) bool { return len(c.SecurityGroups) > 0 || unsecured(c) }

// takes reports whether a port gets the machine's security groups in Machine API.
func takes(c port) bool { return !apart(c) }

func checkManaged(p *pass) {
	if _, managed, _ := unstructured.NestedMap(p.Env.InfraCluster, "spec", "managedSecurityGroups"); managed {
		p.Unsupported("securityGroups", nil,
			"the OpenStackCluster has spec.managedSecurityGroups: Cluster API adds these groups to each Machine, and Machine API does not. Remove "+
				"spec.managedSecurityGroups, or keep the machine with Machine API")
	}
}

func interfacesFrom(p *pass, c *infraSpec, m *providerSpec) {
	checkManaged(p)
	ports, pairs := plugged(p, c), vipsFrom(p, c)
	share(p, c, m, ports, leading(ports, func(c port) string { return bar(c, pairs) }))
	first := leading(ports, func(c port) string { return barred(c, pairs) })
	for i := range ports {
		n := nic{Networks: make([]networkParam, 1)}
		if i >= first {
			n = nic{Ports: make([]portOpts, 1), bar: barred(ports[i], pairs), virtual: pairs.String()}
		}
		Interfaces.ToMachineAPI(p.At(fmt.Sprintf("ports[%d]", i)), &ports[i], &n)
		m.Networks, m.Ports = append(m.Networks, n.Networks...), append(m.Ports, n.Ports...)
	}
}

// plugged returns a copy of the ports that Cluster API creates. If the OpenStackMachine lists none, that is one in the OpenStackCluster's network.
func plugged(p *pass, c *infraSpec) []port {
	if cl := clusterOf(p); len(c.Ports) == 0 && len(cl.Spec.Subnets) == 0 && cl.network() == nil {
		p.Required("ports", "the Machine's network is unknown, because the OpenStackCluster names neither a network nor subnets: name the network")
		return nil
	}
	if len(c.Ports) == 0 {
		return []port{{}}
	}
	ports := slices.Clone(c.Ports)
	for i, c := range ports {
		if unsecured(c) && len(c.SecurityGroups) > 0 {
			p.Invalid(fmt.Sprintf("ports[%d].securityGroups", i), nil, "a port without port security has no security groups: remove them")
			ports[i].SecurityGroups = nil
		}
	}
	return ports
}

// leading returns the number of ports before the first one for which bar returns a field.
func leading(ports []port, bar func(port) string) int {
	if i := slices.IndexFunc(ports, func(c port) bool { return bar(c) != "" }); i >= 0 {
		return i
	}
	return len(ports)
}

const pairsField = "allowedAddressPairs"

// vips has the virtual addresses (all) that the port of each entry of networks allows in Machine API. After an installation, addresses of another family may be
// added, but no controller changes an existing port. So a port of an existing instance (instance) may have only some of them: those from its creation.
type vips struct {
	all      []openstackv1.AddressPair
	instance bool
}

func vipsFrom(p *pass, c *infraSpec) vips {
	return vips{virtual(p), !p.Core.Template && (p.Core.ProviderID != "" || text(c.ProviderID) != "")}
}

// are reports whether a port's pairs are those that Machine API allows for an entry of networks, in any order. Of an existing instance, some of them are
// enough.
func (v vips) are(pairs []openstackv1.AddressPair) bool {
	has := func(list []openstackv1.AddressPair, a openstackv1.AddressPair) bool {
		return slices.ContainsFunc(list, func(b openstackv1.AddressPair) bool { return a.IPAddress == b.IPAddress && text(b.MACAddress) == "" })
	}
	for _, a := range pairs {
		if text(a.MACAddress) != "" || !has(v.all, a) {
			return false
		}
	}
	return v.instance || !slices.ContainsFunc(v.all, func(a openstackv1.AddressPair) bool { return !has(pairs, a) })
}

// String returns the addresses as text for a message.
func (v vips) String() string {
	if len(v.all) == 0 {
		return "there are none"
	}
	var out []string
	for _, a := range v.all {
		out = append(out, a.IPAddress)
	}
	return strings.Join(out, ", ")
}

// bar returns the field that keeps a port from being an entry of networks; "" if it can be one. It does not consider security groups.
func bar(c port, pairs vips) string {
	switch {
	case c.NameSuffix != nil:
		return "nameSuffix"
	case c.Description != nil:
		return "description"
	case c.MACAddress != nil:
		return "macAddress"
	case c.AdminStateUp != nil:
		return "adminStateUp"
	case c.Trunk != nil:
		return "trunk"
	case slices.ContainsFunc(c.FixedIPs, func(ip openstackv1.FixedIP) bool { return ip.IPAddress != nil || ip.Subnet == nil }):
		return "address"
	case len(c.AllowedAddressPairs) > 0 && !pairs.are(c.AllowedAddressPairs):
		return pairsField
	}
	return ""
}

// barred returns the field that keeps a port from being an entry of networks, like bar. It is for ports from which share has removed the machine's security
// groups: a port that still has groups cannot be an entry of networks either.
func barred(c port, pairs vips) string {
	if b := bar(c, pairs); b != "" || len(c.SecurityGroups) == 0 {
		return b
	}
	return "securityGroups"
}

// share writes the machine's security groups to the providerSpec, and removes them from the ports that get them from the machine in Machine API. These groups
// are the OpenStackMachine's own or, if it has none, those that common finds. The first lead ports could be entries of networks.
func share(p *pass, c *infraSpec, m *providerSpec, ports []port, lead int) {
	all, path := c.SecurityGroups, "securityGroups"
	if len(all) > 0 {
		checkShared(p, ports)
	} else if i := common(ports, lead); i >= 0 {
		all, path = ports[i].SecurityGroups, fmt.Sprintf("ports[%d].securityGroups", i)
		inherit(ports, all, lead)
	}
	for i := range all {
		var to machinev1alpha1.SecurityGroupParam
		SecurityGroups.ToMachineAPI(p.At(fmt.Sprintf("%s[%d]", path, i)), &all[i], &to)
		m.SecurityGroups = append(m.SecurityGroups, to)
	}
}

// inherit removes the machine's security groups (all) from the ports that get them from the machine. If all ports have exactly these groups, and by ID, the
// ports that need not be entries of networks keep them as their own: otherwise groupsTo would later write them to the OpenStackMachine, which is immutable and
// would differ.
func inherit(ports []port, all groups, lead int) {
	same := func(c port) bool { return equality.Semantic.DeepEqual(c.SecurityGroups, all) }
	others := slices.ContainsFunc(ports, func(c port) bool { return !same(c) })
	for i, c := range ports {
		if same(c) && (others || i < lead || !byID(all)) {
			ports[i].SecurityGroups = nil
		}
	}
}

func byID(all groups) bool {
	return !slices.ContainsFunc(all, func(g openstackv1.SecurityGroupParam) bool { return g.ID == nil })
}

func checkShared(p *pass, ports []port) {
	for i, c := range ports {
		switch {
		case len(c.SecurityGroups) > 0:
			p.Unsupported(fmt.Sprintf("ports[%d].securityGroups", i), nil,
				"Cluster API adds the machine's securityGroups to the port's, but Machine API would use only the port's: give each port all its groups, and "+
					"the machine none")
		case unsecured(c):
			p.Invalid(fmt.Sprintf("ports[%d].disablePortSecurity", i), true,
				"Cluster API creates no server that has securityGroups and a port without port security: give the other ports the groups, and the machine none")
		}
	}
}

// common returns the index of the first port whose security groups must become the machine's, because an entry of ports could not have them (they are not by
// ID), or because the port is to be an entry of networks. It is -1 if there is none, or if another port, without groups of its own, would then get the
// machine's.
func common(ports []port, lead int) int {
	if slices.ContainsFunc(ports, takes) {
		return -1
	}
	if i := slices.IndexFunc(ports, func(c port) bool { return !byID(c.SecurityGroups) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(ports[:lead], func(c port) bool { return len(c.SecurityGroups) > 0 })
}
