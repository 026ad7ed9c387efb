// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
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

// nic is one interface in the Machine API's form. It has one entry in one of the Machine API's two lists, networks or ports; the other list is empty.
type nic struct {
	Networks []networkParam `json:"networks,omitempty"`
	Ports    []portOpts     `json:"ports,omitempty"`

	// first is the index that the entry's first subnet has in the providerSpec. It may be greater than 0 if perPort made the interface.
	first int
	// bar and virtual are for messages about an entry of ports. bar is the field that prevents the interface from being an entry of networks. It is "" if the
	// interface could be one, but follows an interface that cannot. virtual lists the addresses that the port of an entry of networks allows.
	bar, virtual string
}

// network returns the entry of networks. It returns nil if the interface is an entry of ports.
func (n *nic) network() *networkParam {
	if len(n.Networks) == 0 {
		return nil
	}
	return &n.Networks[0]
}

// port returns the entry of ports. It returns nil if the interface is an entry of networks.
func (n *nic) port() *portOpts {
	if len(n.Ports) == 0 {
		return nil
	}
	return &n.Ports[0]
}

func interfacesTo(p *pass, m *providerSpec, c *infraSpec) {
	if len(m.Networks)+len(m.Ports) == 0 {
		p.Required("networks",
			"name the network of the machine: without one, Machine API uses the project's only network, but Cluster API uses the OpenStackCluster's network")
	}
	var copied copies
	for i := range m.Networks {
		at := p.At(fmt.Sprintf("networks[%d]", i))
		for _, n := range perPort(at, m.Networks[i], &copied) {
			c.Ports = append(c.Ports, interfaceTo(at, n))
		}
	}
	for i := range m.Ports {
		c.Ports = append(c.Ports, interfaceTo(p.At(fmt.Sprintf("ports[%d]", i)), nic{Ports: m.Ports[i : i+1]}))
	}
	groupsTo(p, m, c, &copied)
	if ips := clusterOf(p).addresses(); len(c.Ports) == 1 && len(ips) > 0 && equality.Semantic.DeepEqual(c.Ports[0], port{FixedIPs: ips}) {
		c.Ports = nil // without ports Cluster API makes exactly this one
	}
}

// perPort returns the interfaces that Machine API makes for an entry of networks. If the entry does not name the network itself, this is one interface for
// each of the entry's subnets. Otherwise it is one interface. There is none, but an error, if the interfaces would be too large.
func perPort(p *pass, n networkParam, copied *copies) []nic {
	named := networkTo(conversion.NewPass(p.Env, p.Core, ""), n.UUID, &n.Filter) != nil
	if named || len(n.Subnets) < 2 {
		return []nic{{Networks: []networkParam{n}}}
	}
	rest := n
	rest.Subnets = nil
	if !copied.allow(p, "subnets", len(n.Subnets), "the other fields of this entry", rest) {
		return nil
	}
	var out []nic
	for i := range n.Subnets {
		one := n
		one.Subnets = n.Subnets[i : i+1]
		out = append(out, nic{Networks: []networkParam{one}, first: i})
	}
	return out
}

// copies counts the bytes that a conversion adds by writing a part of a providerSpec to several ports. Without a limit, a small providerSpec could become
// an object so large that the conversion takes minutes and all memory.
type copies struct{ bytes int }

// mostCopied is the limit for these bytes: larger objects do not fit into an API server's storage.
const mostCopied = 1 << 20

// allow reports whether a part of a providerSpec can be written to n ports. If not, it reports an error at a path. what describes the part.
func (c *copies) allow(p *pass, path string, n int, what string, part any) bool {
	raw, _ := json.Marshal(part) // cannot fail: the part was decoded from JSON
	if c.bytes += n * len(raw); c.bytes <= mostCopied {
		return true
	}
	p.Unsupported(path, n, fmt.Sprintf("Cluster API needs %s at each port, and with %d ports the object would be larger than API servers store: remove some, "+
		"or leave Machine API authoritative", what, n))
	return false
}

func interfaceTo(p *pass, n nic) port {
	var out port
	Interfaces.ToClusterAPI(p, &n, &out)
	return out
}

// groupsTo converts the providerSpec's security groups. It writes them to the OpenStackMachine if each port gets them in Machine API. If a port has groups of
// its own, or no port security, groupsTo writes them to each port that gets them in Machine API instead. The reason is that Cluster API adds the machine's
// groups to those of each port, and creates no server if a port without port security would get groups.
func groupsTo(p *pass, m *providerSpec, c *infraSpec, copied *copies) {
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
		p.Invalid("securityGroups", nil,
			"no interface uses these security groups, because each interface has groups of its own or has no port security: remove these groups")
	case copied.allow(p, "securityGroups", len(c.Ports), "these security groups", m.SecurityGroups):
		hand(c.Ports, all)
		collect(c, vips{all: virtual(p)})
	}
}

// hand writes the machine's security groups (all) to each port that gets them in Machine API.
func hand(ports []port, all groups) {
	for i, c := range ports {
		if takes(c) {
			ports[i].SecurityGroups = slices.Clone(all)
		}
	}
}

// collect moves security groups from the ports to the machine. It does so if all ports have the same groups and all of them become entries of networks on the
// way back, because such an entry has no groups of its own.
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

// apart reports whether a port does not get the machine's security groups in Machine API, because it has security groups of its own or no port security.
func apart(c port) bool { return len(c.SecurityGroups) > 0 || unsecured(c) }

// takes reports whether a port gets the machine's security groups in Machine API.
func takes(c port) bool { return !apart(c) }

func checkManaged(p *pass) {
	if _, managed, _ := unstructured.NestedMap(p.Env.InfraCluster, "spec", "managedSecurityGroups"); managed {
		p.Unsupported("securityGroups", nil,
			"the OpenStackCluster has spec.managedSecurityGroups, so Cluster API adds security groups to each Machine, but Machine API does not. Remove "+
				"spec.managedSecurityGroups, or leave Machine API authoritative")
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

// plugged returns a copy of the ports that Cluster API creates. If the OpenStackMachine lists none, this is one port in the OpenStackCluster's network.
func plugged(p *pass, c *infraSpec) []port {
	if cl := clusterOf(p); len(c.Ports) == 0 && len(cl.Spec.Subnets) == 0 && cl.network() == nil {
		p.Required("ports",
			"the Machine's network is unknown, because neither this object nor the OpenStackCluster names a network or subnets: name the network in ports")
		return nil
	}
	if len(c.Ports) == 0 {
		return []port{{}}
	}
	ports := slices.Clone(c.Ports)
	for i, c := range ports {
		if unsecured(c) && len(c.SecurityGroups) > 0 {
			p.Invalid(fmt.Sprintf("ports[%d].securityGroups", i), nil,
				"a port without port security cannot have security groups: remove the groups, or enable port security")
			ports[i].SecurityGroups = nil
		}
	}
	return ports
}

// leading returns the number of ports at the beginning for which bar returns "": those before the first port with another result.
func leading(ports []port, bar func(port) string) int {
	if i := slices.IndexFunc(ports, func(c port) bool { return bar(c) != "" }); i >= 0 {
		return i
	}
	return len(ports)
}

const pairsField = "allowedAddressPairs"

// vips has the virtual addresses (all) that the port of each entry of networks allows in Machine API. If the port belongs to an existing instance (instance),
// the port may allow only some of them: addresses of another family may be added after an installation, but no controller changes an existing port.
type vips struct {
	all      []openstackv1.AddressPair
	instance bool
}

func vipsFrom(p *pass, c *infraSpec) vips {
	return vips{virtual(p), !p.Core.Template && (p.Core.ProviderID != "" || text(c.ProviderID) != "")}
}

// are reports whether a port's address pairs are the virtual addresses that Machine API allows for an entry of networks, in any order. For an existing
// instance, some of the virtual addresses are enough.
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

// bar returns the field that prevents a port from being an entry of networks; "" if the port can be one. It does not consider security groups.
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

// barred returns the field that prevents a port from being an entry of networks, like bar, and also considers security groups. It is for ports from which
// share has removed the machine's security groups. A port that still has groups then cannot be an entry of networks.
func barred(c port, pairs vips) string {
	if b := bar(c, pairs); b != "" || len(c.SecurityGroups) == 0 {
		return b
	}
	return "securityGroups"
}

// share writes the machine's security groups to the providerSpec, and removes them from the ports that get them from the machine in Machine API. The
// machine's groups are those of the OpenStackMachine or, if it has none, those of the port that common finds. Only the first ports, whose number is lead,
// could be entries of networks.
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

// inherit removes the machine's security groups (all) from the ports that get them from the machine. There is one exception: if all ports have exactly these
// groups, and the groups are by ID, then the ports after the first `lead` ports keep them as their own. Otherwise groupsTo would later write these groups to
// the OpenStackMachine, which is immutable and would differ.
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
				"Cluster API adds the machine's securityGroups to those of the port, but Machine API would use only those of the port: give each port all "+
					"groups that it needs, and remove the machine's securityGroups")
		case unsecured(c):
			p.Invalid(fmt.Sprintf("ports[%d].disablePortSecurity", i), true,
				"Cluster API creates no server if the machine has securityGroups and this port has no port security: give the groups to each of the other "+
					"ports, and remove the machine's securityGroups")
		}
	}
}

// common returns the index of the first port whose security groups must become the machine's. There are two reasons for that: an entry of ports could not
// have the groups because they are not by ID, or the port is to be an entry of networks (it is one of the first `lead` ports). The result is -1 if there is
// no such port. It is also -1 if a port has no groups of its own, because that port would then get the machine's.
func common(ports []port, lead int) int {
	if slices.ContainsFunc(ports, takes) {
		return -1
	}
	if i := slices.IndexFunc(ports, func(c port) bool { return !byID(c.SecurityGroups) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(ports[:lead], func(c port) bool { return len(c.SecurityGroups) > 0 })
}
