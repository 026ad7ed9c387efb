// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/conversion"
)

type (
	providerSpec = machinev1.NutanixMachineProviderConfig
	infraSpec    = MachineSpec
	pass         = conversion.Pass
)

// at is a short name for conversion.At, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

// identifier returns the paths of the three fields that identify an object of Prism Central.
func identifier(path string) []string { return at(path+".type", path+".uuid", path+".name") }

// cluster returns a path in the NutanixCluster (conversion.Elsewhere).
func cluster(path string) string { return "NutanixCluster" + conversion.Elsewhere + path }

var of conversion.Rows[providerSpec, infraSpec]

// These are reasons and notes that more than one row gives.
const (
	noLookup = "Machine API does not look images up: set image"
	noDetail = "a bootstrapRef can only name the Machine's Secret: remove it"
	byEither = "By UUID or by name. A value that does not belong to the type is an error."
)

// Fields converts a providerSpec into the spec of a NutanixMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"Written as NutanixMachineProviderConfig of machine.openshift.io/v1. Any value is read, except another platform's kind: "+
			"the Machine API goes by the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "metadata inside a providerSpec means nothing: remove it"),

	// Where it runs.
	of.Iso(append(identifier("cluster"), append(identifier("subnets[]"), "failureDomain.name")...),
		append(identifier("cluster"), append(identifier("subnet[]"), "Machine"+conversion.Elsewhere+"spec.failureDomain", cluster("spec.failureDomains"),
			cluster("spec.prismCentral.address"))...),
		"By UUID or by name. A machine has 1 to 32 subnets, each once. The failure domain becomes the Machine's failureDomain. In both APIs the cluster and "+
			"subnets of a failure domain replace the machine's own, so the mirror has those of the Infrastructure's failure domain. If the NutanixCluster "+
			"lists the failure domain, its cluster and subnets must be the same, and a machine that leaves them out comes back with them. For machines "+
			"without an instance the NutanixCluster must list the failure domain, unless it names failure domains that are objects "+
			"(controlPlaneFailureDomains): the message has the command. On the way back the cluster and subnets must be those of the Infrastructure's "+
			"failure domain. For machines without an instance the Infrastructure must list the failure domain in both directions, because Machine API "+
			"creates no machine in any other. Both sides must use the same Prism Central.",
		placeTo, placeFrom),
	of.Iso(nil, at("providerID", "Machine"+conversion.Elsewhere+"spec.providerID"), "nutanix:// and the VM's UUID on both sides. A template has none.",
		providerIDTo, providerIDFrom),

	// The VM.
	of.Iso(identifier("image"), identifier("image"), byEither, imageTo, imageFrom),
	of.OnlyCAPI("imageLookup.format", noLookup),
	of.OnlyCAPI("imageLookup.baseOS", noLookup),
	of.Iso(at("vcpusPerSocket"), at("vcpusPerSocket"), "At least 1.",
		func(p *pass, m *providerSpec, c *infraSpec) {
			c.VCPUsPerSocket = atLeastOne(p, "vcpusPerSocket", m.VCPUsPerSocket)
		},
		func(p *pass, c *infraSpec, m *providerSpec) {
			m.VCPUsPerSocket = atLeastOne(p, "vcpusPerSocket", c.VCPUsPerSocket)
		}),
	of.Iso(at("vcpuSockets"), at("vcpuSockets"), "At least 1.",
		func(p *pass, m *providerSpec, c *infraSpec) {
			c.VCPUSockets = atLeastOne(p, "vcpuSockets", m.VCPUSockets)
		},
		func(p *pass, c *infraSpec, m *providerSpec) {
			m.VCPUSockets = atLeastOne(p, "vcpuSockets", c.VCPUSockets)
		}),
	of.Iso(at("memorySize"), at("memorySize"), "At least 2Gi: Cluster API's controller fails a machine with less.",
		func(p *pass, m *providerSpec, c *infraSpec) {
			c.MemorySize = sized(p, "memorySize", m.MemorySize, "2Gi")
		},
		func(p *pass, c *infraSpec, m *providerSpec) {
			m.MemorySize = sized(p, "memorySize", c.MemorySize, "2Gi")
		}),
	of.Iso(at("systemDiskSize"), at("systemDiskSize"), "At least 20Gi: Cluster API's controller fails a machine with less.",
		func(p *pass, m *providerSpec, c *infraSpec) {
			c.SystemDiskSize = sized(p, "systemDiskSize", m.SystemDiskSize, "20Gi")
		},
		func(p *pass, c *infraSpec, m *providerSpec) {
			m.SystemDiskSize = sized(p, "systemDiskSize", c.SystemDiskSize, "20Gi")
		}),
	of.Words("bootType", "bootType", "Absent is Legacy BIOS on both sides; Cluster API has no SecureBoot. ",
		conversion.Word{MachineAPI: "Legacy", ClusterAPI: "legacy"},
		conversion.Word{MachineAPI: "UEFI", ClusterAPI: "uefi"}),
	of.Iso(identifier("project"), identifier("project"), byEither+" An entry without a type counts as absent.", projectTo, projectFrom),
	of.Iso(at("categories[].key", "categories[].value"), at("additionalCategories[].key", "additionalCategories[].value"),
		"1 to 64 characters each, and each key once. Machine API gives each VM the cluster's category by itself, and an uninstall finds the VM by it. "+
			"Cluster API's controller adds another category, so the NutanixMachine lists the cluster's too. The category's value is owned on both sides.",
		categoriesTo, categoriesFrom),
	of.Iso(at("gpus[].type", "gpus[].name", "gpus[].deviceID"), at("gpus[].type", "gpus[].name", "gpus[].deviceID"),
		"Name is name, DeviceID is deviceID.", gpusTo, gpusFrom),

	// The data disks.
	of.Iso(at("dataDisks"), at("dataDisks"), "In their order.", disksTo, disksFrom).With(Disks.Lines(), "dataDisks[]", "dataDisks[]"),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName",
		"bootstrapRef.kind", "bootstrapRef.name", "bootstrapRef.namespace", "bootstrapRef.apiVersion"),
		"Required on both sides: Cluster API creates no Machine without bootstrap data. Windows Machines without an instance cannot move. Cluster "+
			"API's controller sets bootstrapRef; a bootstrapRef that names anything except the Machine's secret cannot convert.",
		userDataTo, userDataFrom),
	of.OnlyCAPI("bootstrapRef.uid", noDetail),
	of.OnlyCAPI("bootstrapRef.resourceVersion", noDetail),
	of.OnlyCAPI("bootstrapRef.fieldPath", noDetail),
	of.Iso(at("credentialsSecret.name"), nil,
		"Must be the cluster's own secret, or absent, which means the same; Cluster API takes its credentials from the NutanixCluster.",
		credentialsTo, credentialsFrom),
}

var disk conversion.Rows[machinev1.NutanixVMDisk, VMDisk]

// Disks converts one data disk.
var Disks = conversion.Table[machinev1.NutanixVMDisk, VMDisk]{
	disk.Iso(at("diskSize"), at("diskSize"), "At least 1Gi.",
		func(p *pass, m *machinev1.NutanixVMDisk, c *VMDisk) {
			c.DiskSize = sized(p, "diskSize", m.DiskSize, "1Gi")
		},
		func(p *pass, c *VMDisk, m *machinev1.NutanixVMDisk) {
			m.DiskSize = sized(p, "diskSize", c.DiskSize, "1Gi")
		}),
	disk.Iso(at("deviceProperties.deviceType", "deviceProperties.adapterType", "deviceProperties.deviceIndex"),
		at("deviceProperties.deviceType", "deviceProperties.adapterType", "deviceProperties.deviceIndex"),
		"A Disk on any adapter, a CDRom only on IDE: apart from IDE, Machine API takes only SATA and Cluster API's controller only PCI.", deviceTo, deviceFrom),
	disk.Iso(at("storageConfig.diskMode", "storageConfig.storageContainer.type", "storageConfig.storageContainer.uuid"),
		at("storageConfig.diskMode", "storageConfig.storageContainer.type", "storageConfig.storageContainer.uuid"),
		"Machine API names a storage container only by its UUID.", storageTo, storageFrom),
	disk.OnlyCAPI("storageConfig.storageContainer.name", "Machine API names a storage container only by its UUID: set uuid instead"),
	disk.Iso(identifier("dataSource"), identifier("dataSource"), byEither, sourceTo, sourceFrom),
}
