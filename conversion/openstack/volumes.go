// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"strings"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
)

type (
	mapiDevice = machinev1alpha1.AdditionalBlockDevice
	capiDevice = openstackv1.AdditionalBlockDevice
	volumeZone = openstackv1.VolumeAvailabilityZone
)

const (
	noSize     = "must be at least 1: give the size of the volume, in GiB"
	noRootSize = noSize + ". Or remove rootVolume and name the image, so that the server boots from the disk of its flavor"
)

func rootSizeTo(p *pass, m *providerSpec, c *infraSpec) {
	if m.RootVolume == nil {
		return
	}
	if m.RootVolume.Size < 1 {
		p.Invalid("rootVolume.diskSize", m.RootVolume.Size, noRootSize)
	}
	rootVolumeTo(c).SizeGiB = m.RootVolume.Size
}

func rootSizeFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.RootVolume == nil {
		return
	}
	if c.RootVolume.SizeGiB < 1 {
		p.Invalid("rootVolume.sizeGiB", c.RootVolume.SizeGiB, noRootSize)
	}
	rootVolume(m).Size = c.RootVolume.SizeGiB
}

func rootVolumeTo(c *infraSpec) *openstackv1.RootVolume {
	if c.RootVolume == nil {
		c.RootVolume = &openstackv1.RootVolume{}
	}
	return c.RootVolume
}

func rootZoneTo(p *pass, m *providerSpec, c *infraSpec) {
	if m.RootVolume != nil && m.RootVolume.Zone != "" {
		rootVolumeTo(c).AvailabilityZone = zoneNamed(p, "rootVolume.availabilityZone", m.RootVolume.Zone)
	}
}

func rootZoneFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.RootVolume == nil || c.RootVolume.AvailabilityZone == nil {
		return
	}
	name, ofMachine := zoneOf(p.At("rootVolume.availabilityZone"), c.RootVolume.AvailabilityZone)
	if ofMachine {
		name = p.Core.FailureDomain
		checkZone(p, "rootVolume.availabilityZone", name)
	}
	rootVolume(m).Zone = name
}

// zoneNamed returns a volume's zone with this name. It also sets the field from, because the API server would otherwise fill it in.
func zoneNamed(p *pass, path, name string) *volumeZone {
	checkZone(p, path, name)
	zone := openstackv1.VolumeAZName(name)
	return &volumeZone{From: openstackv1.VolumeAZFromName, Name: &zone}
}

func checkZone(p *pass, path, name string) {
	if strings.Contains(name, " ") {
		p.Invalid(path, name, "the name of the zone must not contain spaces, because Kubernetes cannot register volumes in such a zone")
	}
}

// zoneOf returns the name of a volume's zone. ofMachine reports that the volume is in the Machine's zone; the name is then "".
func zoneOf(p *pass, zone *volumeZone) (name string, ofMachine bool) {
	if zone.Name != nil {
		name = string(*zone.Name)
	}
	switch {
	case zone.From == openstackv1.VolumeAZFromMachine && name != "":
		p.Invalid("name", name, "the field from is Machine, so the volume is in the server's zone: remove name, or set the field from to Name")
	case zone.From == openstackv1.VolumeAZFromMachine:
		return "", true
	case zone.From != openstackv1.VolumeAZFromName && zone.From != "":
		p.Invalid("from", string(zone.From), "supported values: \"Machine\", \"Name\"")
	case name == "":
		p.Required("name", "the field from is Name, or absent, so the zone needs a name: set name")
	}
	checkZone(p, "name", name)
	return name, false
}

func devicesTo(p *pass, m *providerSpec, c *infraSpec) {
	seen := map[string]bool{}
	for i := range m.AdditionalBlockDevices {
		at, from, to := p.At(fmt.Sprintf("additionalBlockDevices[%d]", i)), &m.AdditionalBlockDevices[i], capiDevice{}
		checkDevice(at, seen, from.Name, string(from.Storage.Type), from.Storage.Volume != nil)
		BlockDevices.ToClusterAPI(at, from, &to)
		c.AdditionalBlockDevices = append(c.AdditionalBlockDevices, to)
	}
}

func devicesFrom(p *pass, c *infraSpec, m *providerSpec) {
	seen := map[string]bool{}
	for i := range c.AdditionalBlockDevices {
		at, from, to := p.At(fmt.Sprintf("additionalBlockDevices[%d]", i)), &c.AdditionalBlockDevices[i], mapiDevice{}
		checkDevice(at, seen, from.Name, string(from.Storage.Type), from.Storage.Volume != nil)
		BlockDevices.ToMachineAPI(at, from, &to)
		m.AdditionalBlockDevices = append(m.AdditionalBlockDevices, to)
	}
}

// checkDevice reports an error if an additional block device (of either API) has an invalid name, a name that is in seen, or invalid storage. It adds the
// name to seen.
func checkDevice(p *pass, seen map[string]bool, name, kind string, volume bool) {
	switch {
	case name == "":
		p.Required("name", "the block device needs a name: set name")
	case name == "root":
		p.Invalid("name", name, "root is the name of the root volume: give this block device another name")
	case seen[name]:
		p.Invalid("name", name, "another block device has the same name: give each block device a name of its own")
	}
	seen[name] = true
	switch {
	case kind == "":
		p.Required("storage.type", "set the type of the storage: Volume or Local")
	case kind == string(openstackv1.LocalBlockDevice) && volume:
		p.Invalid("storage.volume", nil, "a block device of type Local has no volume: remove volume, or set type to Volume")
	}
}

func sizeTo(p *pass, m *mapiDevice, c *capiDevice) { c.SizeGiB = checkSize(p, m.SizeGiB) }

func sizeFrom(p *pass, c *capiDevice, m *mapiDevice) { m.SizeGiB = checkSize(p, c.SizeGiB) }

func checkSize(p *pass, size int) int {
	if size < 1 {
		p.Invalid("sizeGiB", size, noSize)
	}
	return size
}

// deviceZoneTo converts the zone of an additional volume. If the volume names no zone, the result says that the zone is the Machine's, because Machine API
// then uses the server's zone.
func deviceZoneTo(p *pass, m *mapiDevice, c *capiDevice) {
	if m.Storage.Type != machinev1alpha1.VolumeBlockDevice {
		return
	}
	if c.Storage.Volume == nil {
		c.Storage.Volume = &openstackv1.BlockDeviceVolume{}
	}
	if m.Storage.Volume != nil && m.Storage.Volume.AvailabilityZone != "" {
		c.Storage.Volume.AvailabilityZone = zoneNamed(p, "storage.volume.availabilityZone", m.Storage.Volume.AvailabilityZone)
		return
	}
	c.Storage.Volume.AvailabilityZone = &volumeZone{From: openstackv1.VolumeAZFromMachine}
}

func deviceZoneFrom(p *pass, c *capiDevice, m *mapiDevice) {
	switch volume := c.Storage.Volume; {
	case c.Storage.Type != openstackv1.VolumeBlockDevice:
	case volume != nil && volume.AvailabilityZone != nil:
		if name, ofMachine := zoneOf(p.At("storage.volume.availabilityZone"), volume.AvailabilityZone); !ofMachine {
			volumeOf(m).AvailabilityZone = name
		}
	case p.Core.FailureDomain != "":
		p.Unsupported("storage.volume.availabilityZone", nil,
			fmt.Sprintf("this volume has no availability zone, so Cluster API lets Cinder choose one, but Machine API would use the server's zone, %q: set "+
				"the field from to Machine, or name a zone",
				p.Core.FailureDomain))
	}
}

func volumeOf(m *mapiDevice) *machinev1alpha1.BlockDeviceVolume {
	if m.Storage.Volume == nil {
		m.Storage.Volume = &machinev1alpha1.BlockDeviceVolume{}
	}
	return m.Storage.Volume
}
