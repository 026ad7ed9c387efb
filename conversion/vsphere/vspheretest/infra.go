// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheretest

import (
	"fmt"
	"math/rand/v2"

	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// InfraValues returns makers of valid values for those fields of a VSphereMachine's spec whose values must obey rules.
func InfraValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	return conversiontest.Values{
		"template":                        one("lock-7x2k9-rhcos", "/dc1/vm/lock-7x2k9/rhcos", "vm-42"),
		"cloneMode":                       one("", "fullClone", "linkedClone"),
		"server":                          one("", server),
		"thumbprint":                      one(""),
		"datacenter":                      one("", "*", "dc1", "dc1"),
		"folder":                          one(""),
		"datastore":                       one("", "ds1", "/dc1/datastore/ds1"),
		"resourcePool":                    one("", "/dc1/host/cluster1/Resources"),
		"failureDomain":                   func(*rand.Rand) any { return (*string)(nil) },
		"providerID":                      one(ProviderID("any")),
		"numCPUs":                         conversiontest.OneOf[int32](0, 1, 2, 16),
		"memoryMiB":                       conversiontest.OneOf[int64](0, 2048, 16384),
		"customVMXKeys":                   func(*rand.Rand) any { return map[string]string{"stealclock.enable": "TRUE"} },
		"tagIDs[]":                        one(tag),
		"os":                              one("", "Linux", "Windows"),
		"powerOffMode":                    one("", "hard", "soft", "trySoft"),
		"namingStrategy.template":         one("{{ .machine.name }}", "{{ .machine.name | trunc 15 }}"),
		"network.devices[].networkName":   one("VM Network", "segment-1"),
		"network.devices[].gateway4":      one("", "10.0.0.1"),
		"network.devices[].gateway6":      one("", "fd00::1"),
		"network.devices[].ipAddrs[]":     one("10.0.0.100/16", "fd00::100/64"),
		"network.devices[].nameservers[]": one("10.0.0.2", "fd00::2"),
		"network.devices[].addressesFromPools[].apiGroup": one("", "ipam.cluster.x-k8s.io"),
		"dataDisks[].sizeGiB":                             conversiontest.OneOf[int32](1, 100, 16384),
		"dataDisks[].provisioningMode":                    one("", "Thin", "Thick", "EagerlyZeroed"),
	}
}

// RepairInfra changes a VSphereMachine's generated spec so that it also obeys the rules about more than one field.
func RepairInfra(r *rand.Rand, c *vspherev1.VSphereMachineSpec) {
	if c.CloneMode != vspherev1.FullClone && r.IntN(2) == 0 {
		c.DiskGiB = 0
	}
	if c.Datacenter == "dc1" {
		c.Folder = pick(r, "", "/dc1/vm/lock-7x2k9")
	}
	if len(c.Network.Devices) == 0 {
		c.Network.Devices = []vspherev1.NetworkDeviceSpec{{NetworkName: "VM Network"}}
	}
	for i := range c.Network.Devices {
		repairDevice(&c.Network.Devices[i])
	}
	for i := range c.DataDisks {
		c.DataDisks[i].Name = fmt.Sprintf("%s_%d", c.DataDisks[i].Name, i)
	}
}

// repairDevice makes a device convertible. It sets DHCP to what Machine API implies: IPv4 only, because the kit's machine networks are IPv4. It also leaves
// at most one gateway.
func repairDevice(d *vspherev1.NetworkDeviceSpec) {
	d.DHCP4, d.DHCP6 = len(d.IPAddrs) == 0 && len(d.AddressesFromPools) == 0, false
	if d.Gateway4 != "" {
		d.Gateway6 = ""
	}
}

// NormalInfra changes a VSphereMachine's spec into the form that it has after the round trip. That form has the controllers' defaults.
func NormalInfra(c *vspherev1.VSphereMachineSpec) {
	id := ProviderID("any")
	c.ProviderID, c.FailureDomain, c.NamingStrategy, c.OS, c.PowerOffMode = &id, nil, nil, "", ""
	c.NumCPUs = max(c.NumCPUs, 2)
	if c.MemoryMiB == 0 {
		c.MemoryMiB = 2048
	}
	fill := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	fill((*string)(&c.CloneMode), "linkedClone")
	fill(&c.Server, server)
	fill(&c.Datacenter, "*")
	for i := range c.Network.Devices {
		for j := range c.Network.Devices[i].AddressesFromPools {
			if pool := &c.Network.Devices[i].AddressesFromPools[j]; pool.APIGroup == nil {
				none := ""
				pool.APIGroup = &none
			}
		}
	}
}
