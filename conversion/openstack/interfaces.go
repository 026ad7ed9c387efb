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

// nic is one interface of the Machine API, in one of its two lists: the other is empty.
type nic struct {
	Networks []networkParam `json:"networks,omitempty"`
	Ports    []portOpts     `json:"ports,omitempty"`

	// first is the index of the first subnet in its list.
	first int
	// bar is the field that keeps it out of networks; empty if it follows one that cannot be there. virtual are the addresses that a network's port allows.
	bar, virtual string
}

// network is nil for an entry of ports.
func (n *nic) network() *networkParam {
	if len(n.Networks) == 0 {
		return nil
	}
	return &n.Networks[0]
}

// port is nil for an entry of networks.
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
		c.Ports = nil // Cluster API's default without ports
	}
}

// perPort are the interfaces of an entry of networks: one, except that Machine API makes a port for each subnet if these alone determine the network.
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

// groupsTo gives the machine's groups to the machine, or to each port that gets them in Machine API: Cluster API adds the machine's to those of a port, and
// creates no server if such a port has no port security.
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

// hand gives the machine's groups to each port that gets them.
func hand(ports []port, all groups) {
	for i, c := range ports {
		if takes(c) {
			ports[i].SecurityGroups = slices.Clone(all)
		}
	}
}

// collect gives the machine the groups that all ports have, if all become networks on the way back: those have no others.
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

// unsecured recognizes a port without port security, and so without groups.
func unsecured(c port) bool { return yes(c.DisablePortSecurity) }

// apart recognizes a port with other groups than the machine's.
func apart(c port) bool { return len(c.SecurityGroups) > 0 || unsecured(c) }

// takes recognizes a port that gets the machine's groups in Machine API.
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

// plugged is a copy of the ports that Cluster API creates: one in the OpenStackCluster's network, if none is given.
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

// leading counts the ports before the first with a bar.
func leading(ports []port, bar func(port) string) int {
	if i := slices.IndexFunc(ports, func(c port) bool { return bar(c) != "" }); i >= 0 {
		return i
	}
	return len(ports)
}

const pairsField = "allowedAddressPairs"

// vips are the addresses that each network's port allows in Machine API. There may be more after an installation, of another address family, and no controller
// changes an existing port: so a port of an instance has some of them, those from its creation.
type vips struct {
	all      []openstackv1.AddressPair
	instance bool
}

func vipsFrom(p *pass, c *infraSpec) vips {
	return vips{virtual(p), !p.Core.Template && (p.Core.ProviderID != "" || text(c.ProviderID) != "")}
}

// are reports whether these pairs are what Machine API allows, in any order.
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

// String lists them for a person.
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

// bar is why a port cannot be an entry of networks; empty if it can.
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

// barred is bar once the machine's groups are known: a network has no others.
func barred(c port, pairs vips) string {
	if b := bar(c, pairs); b != "" || len(c.SecurityGroups) == 0 {
		return b
	}
	return "securityGroups"
}

// share finds the machine's groups, and removes them from the ports that get them from the machine. The first lead ports could be networks.
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

// inherit removes the machine's groups from the ports that get them from it. If all do, those that need not be networks keep them as their own: otherwise the
// way to Cluster API would give them to the machine, and the immutable OpenStackMachine would differ.
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

// common is the first port whose groups must be the machine's, because a port of the Machine API could not have them: they are not by id, or the port is to be
// a network. It is -1 if there is none, or if a port would get groups that it does not have.
func common(ports []port, lead int) int {
	if slices.ContainsFunc(ports, takes) {
		return -1
	}
	if i := slices.IndexFunc(ports, func(c port) bool { return !byID(c.SecurityGroups) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(ports[:lead], func(c port) bool { return len(c.SecurityGroups) > 0 })
}
