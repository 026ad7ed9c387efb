// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
)

type mapiDisk = machinev1.NutanixVMDisk

func disksTo(p *pass, m *providerSpec, c *infraSpec) {
	for i := range m.DataDisks {
		var out VMDisk
		Disks.ToClusterAPI(p.At(fmt.Sprintf("dataDisks[%d]", i)), &m.DataDisks[i], &out)
		c.DataDisks = append(c.DataDisks, out)
	}
}

func disksFrom(p *pass, c *infraSpec, m *providerSpec) {
	for i := range c.DataDisks {
		var out mapiDisk
		Disks.ToMachineAPI(p.At(fmt.Sprintf("dataDisks[%d]", i)), &c.DataDisks[i], &out)
		m.DataDisks = append(m.DataDisks, out)
	}
}

func deviceTo(p *pass, m *mapiDisk, c *VMDisk) {
	if d := m.DeviceProperties; d != nil {
		c.DeviceProperties = &DeviceProperties{DeviceType: string(d.DeviceType), AdapterType: string(d.AdapterType), DeviceIndex: d.DeviceIndex}
		checkDevice(p.At("deviceProperties"), c.DeviceProperties)
	}
}

// deviceFrom converts a disk's device properties: where the disk is attached. An absent device type becomes Disk, which is the default of Cluster API's CRD.
func deviceFrom(p *pass, c *VMDisk, m *mapiDisk) {
	if c.DeviceProperties == nil {
		return
	}
	d := *c.DeviceProperties
	if d.DeviceType == "" {
		d.DeviceType = string(machinev1.NutanixDiskDeviceTypeDisk)
	}
	checkDevice(p.At("deviceProperties"), &d)
	m.DeviceProperties = &machinev1.NutanixVMDiskDeviceProperties{
		DeviceType: machinev1.NutanixDiskDeviceType(d.DeviceType), AdapterType: machinev1.NutanixDiskAdapterType(d.AdapterType), DeviceIndex: d.DeviceIndex,
	}
}

func checkDevice(p *pass, d *DeviceProperties) {
	adapters := []string{"SCSI", "IDE", "PCI", "SATA", "SPAPR"}
	switch {
	case d.DeviceType != "Disk" && d.DeviceType != "CDRom":
		p.Invalid("deviceType", d.DeviceType, "must be Disk or CDRom")
	case !slices.Contains(adapters, d.AdapterType):
		p.Invalid("adapterType", d.AdapterType, "supported values: "+strings.Join(adapters, ", "))
	case d.DeviceType == "CDRom" && d.AdapterType != "IDE":
		p.Unsupported("adapterType", d.AdapterType, "the other API's controller accepts a CDRom only on the adapter IDE: set adapterType to IDE")
	}
	if d.DeviceIndex < 0 {
		p.Invalid("deviceIndex", d.DeviceIndex, "must not be negative")
	}
}

func storageTo(p *pass, m *mapiDisk, c *VMDisk) {
	s := m.StorageConfig
	if s == nil {
		return
	}
	at := p.At("storageConfig")
	c.StorageConfig = &StorageConfig{DiskMode: diskMode(at, string(s.DiskMode))}
	if b := s.StorageContainer; b != nil && b.Type != machinev1.NutanixIdentifierUUID {
		container(at).Invalid("type", string(b.Type), `must be "uuid"`)
	} else if b != nil {
		id, _ := identify(container(at), string(b.Type), b.UUID, nil)
		c.StorageConfig.StorageContainer = &id
	}
}

// storageFrom converts a disk's storage configuration: where the disk is stored. An absent mode becomes Standard, which is the default of Cluster API's CRD.
func storageFrom(p *pass, c *VMDisk, m *mapiDisk) {
	s := c.StorageConfig
	if s == nil {
		return
	}
	at, mode := p.At("storageConfig"), s.DiskMode
	if mode == "" {
		mode = string(machinev1.NutanixDiskModeStandard)
	}
	m.StorageConfig = &machinev1.NutanixVMStorageConfig{DiskMode: machinev1.NutanixDiskMode(diskMode(at, mode))}
	if b := s.StorageContainer; b != nil && b.Name == nil { // another row refuses a storage container with a name
		id, _ := identify(container(at), b.Type, b.UUID, nil)
		m.StorageConfig.StorageContainer = &machinev1.NutanixStorageResourceIdentifier{Type: machinev1.NutanixIdentifierType(id.Type), UUID: id.UUID}
	}
}

func container(p *pass) *pass { return p.At("storageContainer") }

func diskMode(p *pass, mode string) string {
	if mode != "Standard" && mode != "Flash" {
		p.Invalid("diskMode", mode, "must be Standard or Flash")
	}
	return mode
}

func sourceTo(p *pass, m *mapiDisk, c *VMDisk) {
	if m.DataSource != nil {
		c.DataSource = identifierTo(p, "dataSource", *m.DataSource)
	}
}

func sourceFrom(p *pass, c *VMDisk, m *mapiDisk) {
	if c.DataSource != nil {
		id := identifierFrom(p, "dataSource", *c.DataSource)
		m.DataSource = &id
	}
}
