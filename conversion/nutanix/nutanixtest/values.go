// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanixtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/nutanix"
)

func sizes(texts ...string) func(*rand.Rand) any {
	return func(r *rand.Rand) any { return resource.MustParse(texts[r.IntN(len(texts))]) }
}

// uuid returns a random UUID.
func uuid(r *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", r.Uint32(), r.Uint32()&0xffff, r.Uint32()&0xffff, r.Uint32()&0xffff, r.Uint64()&0xffffffffffff)
}

// ProviderValues returns makers of valid values for those fields of a providerSpec whose values must obey rules.
func ProviderValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	identifier := conversiontest.OneOf[machinev1.NutanixIdentifierType]
	return conversiontest.Values{
		"kind": one(""), "apiVersion": one(""),
		"metadata":             conversiontest.OneOf(metav1.ObjectMeta{Name: "x"}),
		"userDataSecret":       conversiontest.OneOf(&corev1.LocalObjectReference{Name: "worker-user-data"}),
		"credentialsSecret":    conversiontest.OneOf(corev1.LocalObjectReference{Name: "nutanix-credentials"}),
		"cluster.type":         identifier("uuid", "name"),
		"image.type":           identifier("uuid", "name"),
		"project.type":         identifier("", "uuid", "name"),
		"subnets[].type":       identifier("uuid", "name"),
		"memorySize":           sizes("2Gi", "16Gi", "16384Mi", "17179869184"),
		"systemDiskSize":       sizes("20Gi", "120Gi"),
		"bootType":             one("", "Legacy", "UEFI"),
		"gpus[].type":          conversiontest.OneOf[machinev1.NutanixGPUIdentifierType]("Name", "DeviceID"),
		"dataDisks[].diskSize": sizes("1Gi", "10G", "2048Mi"),
		"dataDisks[].deviceProperties.deviceType":         one("Disk", "CDRom"),
		"dataDisks[].deviceProperties.adapterType":        one("SCSI", "IDE", "PCI", "SATA", "SPAPR"),
		"dataDisks[].storageConfig.diskMode":              one("Standard", "Flash"),
		"dataDisks[].storageConfig.storageContainer.type": identifier("uuid"),
		"dataDisks[].storageConfig.storageContainer.uuid": func(r *rand.Rand) any { return new(uuid(r)) },
		"dataDisks[].dataSource.type":                     identifier("uuid", "name"),
	}
}

// RepairProvider changes a generated providerSpec so that it also obeys the rules about more than one field.
func RepairProvider(r *rand.Rand, m *machinev1.NutanixMachineProviderConfig) {
	repairIdentifier(r, &m.Cluster)
	repairIdentifier(r, &m.Image)
	if m.Project.Type == "" {
		m.Project = machinev1.NutanixResourceIdentifier{}
	} else {
		repairIdentifier(r, &m.Project)
	}
	if len(m.Subnets) == 0 {
		m.Subnets = []machinev1.NutanixResourceIdentifier{{Type: machinev1.NutanixIdentifierUUID}}
	}
	for i := range m.Subnets {
		repairIdentifier(r, &m.Subnets[i])
	}
	for i := range m.Categories {
		m.Categories[i].Key = fmt.Sprintf("%s-%d", m.Categories[i].Key, i)
	}
	for i := range m.GPUs {
		if g := &m.GPUs[i]; g.Type == machinev1.NutanixGPUIdentifierName {
			g.DeviceID, g.Name = nil, new(conversiontest.Word(r))
		} else {
			g.DeviceID, g.Name = new(r.Int32N(1000)), nil
		}
	}
	for i := range m.DataDisks {
		repairDisk(r, &m.DataDisks[i])
	}
}

func repairIdentifier(r *rand.Rand, id *machinev1.NutanixResourceIdentifier) {
	id.UUID, id.Name = nil, nil
	if id.Type == machinev1.NutanixIdentifierUUID {
		id.UUID = new(uuid(r))
	} else {
		id.Name = new("n-" + conversiontest.Word(r) + "-" + uuid(r)[:8])
	}
}

func repairDisk(r *rand.Rand, d *machinev1.NutanixVMDisk) {
	if p := d.DeviceProperties; p != nil && p.DeviceType == machinev1.NutanixDiskDeviceTypeCDROM {
		p.AdapterType = machinev1.NutanixDiskAdapterTypeIDE
	}
	if d.DataSource != nil {
		repairIdentifier(r, d.DataSource)
	}
}

// NormalProvider changes a providerSpec into the form that it has after the round trip. If several forms mean the same, the note in the field's row says
// which one comes back.
func NormalProvider(m *machinev1.NutanixMachineProviderConfig) {
	m.CredentialsSecret = &corev1.LocalObjectReference{Name: "nutanix-credentials"}
}

// InfraValues returns makers of valid values for those fields of a NutanixMachine's spec whose values must obey rules.
func InfraValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	return conversiontest.Values{
		"providerID":        one("", Kit().ProviderID(Element)),
		"cluster.type":      one("uuid", "name"),
		"image.type":        one("uuid", "name"),
		"project.type":      one("uuid", "name"),
		"subnet[].type":     one("uuid", "name"),
		"memorySize":        sizes("2Gi", "16Gi", "16384Mi", "17179869184"),
		"systemDiskSize":    sizes("20Gi", "120Gi"),
		"bootType":          one("", "legacy", "uefi"),
		"gpus[].type":       one("name", "deviceID"),
		"bootstrapRef.kind": one("Secret"), "bootstrapRef.apiVersion": one("", "v1"), "bootstrapRef.name": one("worker-user-data"),
		"bootstrapRef.namespace":                          one("", "openshift-cluster-api"),
		"dataDisks[].diskSize":                            sizes("1Gi", "10G", "2048Mi"),
		"dataDisks[].deviceProperties.deviceType":         one("", "Disk", "CDRom"),
		"dataDisks[].deviceProperties.adapterType":        one("SCSI", "IDE", "PCI", "SATA", "SPAPR"),
		"dataDisks[].storageConfig.diskMode":              one("", "Standard", "Flash"),
		"dataDisks[].storageConfig.storageContainer.type": one("uuid"),
		"dataDisks[].storageConfig.storageContainer.uuid": func(r *rand.Rand) any { return new(uuid(r)) },
		"dataDisks[].dataSource.type":                     one("uuid", "name"),
	}
}

// RepairInfra changes a NutanixMachine's generated spec so that it also obeys the rules about more than one field.
func RepairInfra(r *rand.Rand, c *nutanix.MachineSpec) {
	if c.Cluster == nil {
		c.Cluster = &nutanix.ResourceIdentifier{Type: "name"}
	}
	if l := c.ImageLookup; l != nil && l.Format == nil && l.BaseOS == "" {
		c.ImageLookup = nil
	}
	switch {
	case c.ImageLookup != nil:
		c.Image = nil
	case c.Image == nil:
		c.Image = &nutanix.ResourceIdentifier{Type: "uuid"}
	}
	if len(c.Subnets) == 0 {
		c.Subnets = []nutanix.ResourceIdentifier{{Type: "uuid"}}
	}
	for i := range c.Subnets {
		repairOther(r, &c.Subnets[i])
	}
	for _, id := range []*nutanix.ResourceIdentifier{c.Cluster, c.Image, c.Project} {
		repairOther(r, id)
	}
	for i := range c.AdditionalCategories {
		c.AdditionalCategories[i].Key = fmt.Sprintf("%s-%d", c.AdditionalCategories[i].Key, i)
	}
	for i := range c.GPUs {
		if g := &c.GPUs[i]; g.Type == "name" {
			g.DeviceID, g.Name = nil, new(conversiontest.Word(r))
		} else {
			g.DeviceID, g.Name = new(r.Int64N(1000)), nil
		}
	}
	for i := range c.DataDisks {
		if p := c.DataDisks[i].DeviceProperties; p != nil && p.DeviceType == "CDRom" {
			p.AdapterType = "IDE"
		}
		repairOther(r, c.DataDisks[i].DataSource)
	}
}

func repairOther(r *rand.Rand, id *nutanix.ResourceIdentifier) {
	switch {
	case id == nil:
	case id.Type == "uuid":
		id.UUID, id.Name = new(uuid(r)), nil
	default:
		id.UUID, id.Name = nil, new("n-"+conversiontest.Word(r)+"-"+uuid(r)[:8])
	}
}

// NormalInfra changes a NutanixMachine's spec into the form that it has after the round trip.
func NormalInfra(c *nutanix.MachineSpec) {
	c.ProviderID, c.BootstrapRef = Kit().ProviderID(Element), nil
	own := nutanix.CategoryIdentifier{Key: "kubernetes-io-cluster-" + Kit().Env().ClusterName, Value: "owned"}
	if !slices.Contains(c.AdditionalCategories, own) { // the conversion adds this category, because Machine API gives it to each VM
		c.AdditionalCategories = append(c.AdditionalCategories, own)
	}
	Default(c)
}

// Default sets the defaults that Cluster API's CRD has for data disks.
func Default(c *nutanix.MachineSpec) {
	for i := range c.DataDisks {
		if p := c.DataDisks[i].DeviceProperties; p != nil && p.DeviceType == "" {
			p.DeviceType = "Disk"
		}
		if s := c.DataDisks[i].StorageConfig; s != nil && s.DiskMode == "" {
			s.DiskMode = "Standard"
		}
	}
}
