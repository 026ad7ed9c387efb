// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"
)

type (
	mapiDevice = machinev1beta1.NetworkDeviceSpec
	capiDevice = vspherev1.NetworkDeviceSpec
)

func devicesTo(p *pass, m *providerSpec, c *infraSpec) {
	countDevices(p, len(m.Network.Devices))
	for i := range m.Network.Devices {
		to := capiDevice{}
		Devices.ToClusterAPI(p.At(deviceAt(i)), &m.Network.Devices[i], &to)
		c.Network.Devices = append(c.Network.Devices, to)
	}
}

func devicesFrom(p *pass, c *infraSpec, m *providerSpec) {
	countDevices(p, len(c.Network.Devices))
	for i := range c.Network.Devices {
		to := mapiDevice{}
		Devices.ToMachineAPI(p.At(deviceAt(i)), &c.Network.Devices[i], &to)
		m.Network.Devices = append(m.Network.Devices, to)
	}
}

func deviceAt(i int) string { return fmt.Sprintf("network.devices[%d]", i) }

// maxDevices is the maximum number of network devices of a machine. It is the same in vSphere and in Machine API.
const maxDevices = 10

func countDevices(p *pass, n int) {
	switch {
	case n == 0:
		p.Required("network.devices", "Machine API creates no machine without a network device: add a device, and name its network")
	case n > maxDevices:
		p.Invalid("network.devices", n, fmt.Sprintf("a virtual machine can have at most %d network devices: remove some", maxDevices))
	}
}

func networkTo(p *pass, m *mapiDevice, c *capiDevice) { c.NetworkName = network(p, m.NetworkName) }

func networkFrom(p *pass, c *capiDevice, m *mapiDevice) { m.NetworkName = network(p, c.NetworkName) }

// objectID matches the managed object ID of a network, as vSphere writes it. The type may precede the ID.
var objectID = regexp.MustCompile(`^((Network|OpaqueNetwork|DistributedVirtualPortgroup):.*|(network|dvportgroup)-(o?[0-9]+))$`)

func network(p *pass, name string) string {
	switch {
	case name == "":
		p.Required("networkName", "a network device needs a network: name the network")
	case strings.Contains(name, "/"):
		p.Unsupported("networkName", name, "Machine API finds a network only by its plain name, not by its path: give only the last part of the path")
	case objectID.MatchString(name):
		p.Unsupported("networkName", name, "Machine API finds a network only by its plain name, not by its managed object id: give the network's name")
	case strings.ContainsAny(name, `*?[\`):
		p.Unsupported("networkName", name, "Cluster API reads a network name with *, ?, [ or \\ as a pattern, but Machine API does not: rename the network")
	}
	return name
}

func addressesTo(p *pass, m *mapiDevice, c *capiDevice) {
	checkAddresses(p, m.IPAddrs)
	if len(m.IPAddrs) > 0 && !p.Core.Template && uncreated(p) {
		p.Unsupported("ipAddrs", nil, noAddressSetting)
	}
	c.IPAddrs = m.IPAddrs
	if len(m.IPAddrs) == 0 && len(m.AddressesFromPools) == 0 {
		c.DHCP4, c.DHCP6 = families(p)
	}
}

func addressesFrom(p *pass, c *capiDevice, m *mapiDevice) {
	checkAddresses(p, c.IPAddrs)
	m.IPAddrs = c.IPAddrs
	if len(c.IPAddrs) > 0 || len(c.AddressesFromPools) > 0 {
		dhcpIs(p, "dhcp4", c.DHCP4, false, "Machine API uses no DHCP on a network device that has addresses or pools: set this field to false, or remove it")
		dhcpIs(p, "dhcp6", c.DHCP6, false, "Machine API uses no DHCP on a network device that has addresses or pools: set this field to false, or remove it")
		return
	}
	four, six := families(p)
	const implied = "on a network device that has neither addresses nor pools, Machine API uses DHCP for the address families of the Infrastructure's " +
		"machineNetworks, so this field must be %t"
	dhcpIs(p, "dhcp4", c.DHCP4, four, fmt.Sprintf(implied, four))
	dhcpIs(p, "dhcp6", c.DHCP6, six, fmt.Sprintf(implied, six))
}

func dhcpIs(p *pass, path string, have, want bool, reason string) {
	if have != want {
		p.Unsupported(path, have, reason)
	}
}

// families reports whether the cluster's machines have IPv4 addresses, and whether they have IPv6 addresses. It reads the Infrastructure's machineNetworks.
// If these are unknown, the machines have IPv4 addresses only.
func families(p *pass) (four, six bool) {
	for _, cidr := range machineNetworks(p) {
		prefix, err := netip.ParsePrefix(cidr)
		four = four || err == nil && prefix.Addr().Is4()
		six = six || err == nil && prefix.Addr().Is6()
	}
	return four || !six, six
}

func machineNetworks(p *pass) []string {
	for _, at := range [][]string{
		{"spec", "platformSpec", "vsphere", "machineNetworks"},
		{"status", "platformStatus", "vsphere", "machineNetworks"},
	} {
		if cidrs, _, _ := unstructured.NestedStringSlice(p.Env.Infrastructure, at...); len(cidrs) > 0 {
			return cidrs
		}
	}
	return nil
}

func checkAddresses(p *pass, addresses []string) {
	if len(addresses) > 0 && p.Core.Template {
		p.Unsupported("ipAddrs", nil, "all machines of a template would have the same addresses, so Cluster API accepts no addresses in a template. If "+
			"DHCP gives the addresses, remove ipAddrs and gateway. Otherwise leave Machine API authoritative for the MachineSet. Machines that have an "+
			"instance can move with static addresses")
	}
	for i, a := range addresses {
		if _, err := netip.ParsePrefix(a); err != nil {
			p.Invalid(fmt.Sprintf("ipAddrs[%d]", i), a, "must be an IP address with its prefix length, such as 192.168.1.100/24")
		}
	}
}

func gatewayTo(p *pass, m *mapiDevice, c *capiDevice) {
	if m.Gateway == "" {
		return
	}
	ip, err := netip.ParseAddr(m.Gateway)
	switch {
	case err != nil:
		p.Invalid("gateway", m.Gateway, "must be an IP address")
	case ip.Is4():
		c.Gateway4 = m.Gateway
	default:
		c.Gateway6 = m.Gateway
	}
}

func gatewayFrom(p *pass, c *capiDevice, m *mapiDevice) {
	if ip, err := netip.ParseAddr(c.Gateway4); c.Gateway4 != "" && (err != nil || !ip.Is4()) {
		p.Invalid("gateway4", c.Gateway4, "must be an IPv4 address")
	}
	if ip, err := netip.ParseAddr(c.Gateway6); c.Gateway6 != "" && (err != nil || !ip.Is6()) {
		p.Invalid("gateway6", c.Gateway6, "must be an IPv6 address")
	}
	m.Gateway = c.Gateway4
	switch {
	case c.Gateway4 == "":
		m.Gateway = c.Gateway6
	case c.Gateway6 != "":
		p.Unsupported("gateway6", c.Gateway6,
			"Machine API has only one gateway for a network device, but gateway4 and gateway6 are both set: remove one of the two")
	}
}

func nameserversTo(p *pass, m *mapiDevice, c *capiDevice) {
	c.Nameservers = nameservers(p, m.Nameservers)
}

func nameserversFrom(p *pass, c *capiDevice, m *mapiDevice) {
	m.Nameservers = nameservers(p, c.Nameservers)
}

func nameservers(p *pass, servers []string) []string {
	for i, s := range servers {
		if _, err := netip.ParseAddr(s); err != nil {
			p.Invalid(fmt.Sprintf("nameservers[%d]", i), s, "must be an IP address")
		}
	}
	return servers
}

// noAddressSetting is the reason why a new machine with static addresses or pools cannot move: Cluster API does not write the setting from which RHCOS reads
// its address at first boot. A Machine that has an instance can move, because the instance has its address.
const noAddressSetting = "RHCOS reads its static address from the key guestinfo.afterburn.initrd.network-kargs, but Cluster API does not write this key, " +
	"so a new machine would not join the cluster. Machines that have an instance can move. For machines without an instance: leave Machine API " +
	"authoritative, or use DHCP"

func uncreated(p *pass) bool { return p.Core.Template || p.Core.ProviderID == "" }

// installed is the API group of the installer's address pools. Only Machine API's Machines get addresses from these pools.
const installed = "installer.openshift.io"

func poolsTo(p *pass, m *mapiDevice, c *capiDevice) {
	if len(m.AddressesFromPools) > 0 && uncreated(p) {
		p.Unsupported("addressesFromPools", nil, noAddressSetting)
	}
	for i, from := range m.AddressesFromPools {
		if from.Group == installed && !uncreated(p) {
			p.Unsupported(fmt.Sprintf("addressesFromPools[%d]", i), from.Resource+" "+from.Name,
				"this pool is one of the installer's, and in Cluster API no controller assigns addresses from such a pool: give the Machine's address in "+
					"ipAddrs, with its gateway, and leave the pool out")
		}
		checkPool(p.At(fmt.Sprintf("addressesFromPools[%d]", i)), "resource", from.Resource, from.Name)
		// The group is written even if it is empty, which means the same as absent: a nil group would be written as null, which the CRD refuses.
		c.AddressesFromPools = append(c.AddressesFromPools, corev1.TypedLocalObjectReference{APIGroup: &from.Group, Kind: from.Resource, Name: from.Name})
	}
}

func poolsFrom(p *pass, c *capiDevice, m *mapiDevice) {
	for i, from := range c.AddressesFromPools {
		checkPool(p.At(fmt.Sprintf("addressesFromPools[%d]", i)), "kind", from.Kind, from.Name)
		m.AddressesFromPools = append(m.AddressesFromPools, machinev1beta1.AddressesFromPool{Group: text(from.APIGroup), Resource: from.Kind, Name: from.Name})
	}
}

func checkPool(p *pass, kindField, kind, name string) {
	if kind == "" {
		p.Required(kindField, "the pool that gives the address needs a kind: set it")
	}
	if name == "" {
		p.Required("name", "the pool that gives the address needs a name: set name")
	}
}
