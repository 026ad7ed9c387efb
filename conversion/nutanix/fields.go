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
	noLookup = "Machine API does not look for images: set image, and remove imageLookup"
	noDetail = "Machine API has no field for this detail of bootstrapRef, which can only name the Machine's Secret: remove it"
	byEither = "The resource is given by its UUID or by its name, as the type says. If the type is uuid, a name is an error; if the type is name, a UUID " +
		"is an error."
)

// Fields converts a providerSpec into the spec of a NutanixMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"The conversion writes NutanixMachineProviderConfig of machine.openshift.io/v1. It accepts any value except the kind of another platform, because "+
			"Machine API does not read these fields: it uses the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "neither API reads metadata inside a providerSpec: remove it"),

	// Where it runs.
	of.Iso(append(identifier("cluster"), append(identifier("subnets[]"), "failureDomain.name")...),
		append(identifier("cluster"), append(identifier("subnet[]"), "Machine"+conversion.Elsewhere+"spec.failureDomain", cluster("spec.failureDomains"),
			cluster("spec.prismCentral.address"))...),
		"The Prism Element cluster and each subnet are given by UUID or by name. A machine has 1 to 32 subnets, and no subnet twice. The failure domain "+
			"becomes the Machine's failureDomain. In both APIs the cluster and subnets of a failure domain replace the machine's own, so the mirror has "+
			"the cluster and subnets of the Infrastructure's failure domain. If the NutanixCluster lists the failure domain, its cluster and subnets must "+
			"be the same. A machine without a cluster or subnets comes back with those of the failure domain. The NutanixCluster must list the failure "+
			"domain of a machine without an instance, unless it names failure domains that are objects (controlPlaneFailureDomains); the error message "+
			"contains the command that lists the failure domain. In the conversion back, the cluster and subnets must be those of the Infrastructure's "+
			"failure domain. In both directions, the Infrastructure must list the failure domain of a machine without an instance, because Machine API "+
			"creates no machine in any other failure domain. The Infrastructure and the NutanixCluster must name the same Prism Central.",
		placeTo, placeFrom),
	of.Iso(nil, at("providerID", "Machine"+conversion.Elsewhere+"spec.providerID"),
		"The provider id is nutanix:// and the VM's UUID on both sides. A template has no provider id.",
		providerIDTo, providerIDFrom),

	// The VM.
	of.Iso(identifier("image"), identifier("image"), byEither, imageTo, imageFrom),
	of.OnlyCAPI("imageLookup.format", noLookup),
	of.OnlyCAPI("imageLookup.baseOS", noLookup),
	of.Iso(at("vcpusPerSocket"), at("vcpusPerSocket"), "The number must be at least 1.",
		func(p *pass, m *providerSpec, c *infraSpec) {
			c.VCPUsPerSocket = atLeastOne(p, "vcpusPerSocket", m.VCPUsPerSocket)
		},
		func(p *pass, c *infraSpec, m *providerSpec) {
			m.VCPUsPerSocket = atLeastOne(p, "vcpusPerSocket", c.VCPUsPerSocket)
		}),
	of.Iso(at("vcpuSockets"), at("vcpuSockets"), "The number must be at least 1.",
		func(p *pass, m *providerSpec, c *infraSpec) {
			c.VCPUSockets = atLeastOne(p, "vcpuSockets", m.VCPUSockets)
		},
		func(p *pass, c *infraSpec, m *providerSpec) {
			m.VCPUSockets = atLeastOne(p, "vcpuSockets", c.VCPUSockets)
		}),
	of.Iso(at("memorySize"), at("memorySize"), "The size must be at least 2Gi, because Cluster API's controller marks a machine with less memory as failed.",
		func(p *pass, m *providerSpec, c *infraSpec) {
			c.MemorySize = sized(p, "memorySize", m.MemorySize, "2Gi")
		},
		func(p *pass, c *infraSpec, m *providerSpec) {
			m.MemorySize = sized(p, "memorySize", c.MemorySize, "2Gi")
		}),
	of.Iso(at("systemDiskSize"), at("systemDiskSize"),
		"The size must be at least 20Gi, because Cluster API's controller marks a machine with a smaller system disk as failed.",
		func(p *pass, m *providerSpec, c *infraSpec) {
			c.SystemDiskSize = sized(p, "systemDiskSize", m.SystemDiskSize, "20Gi")
		},
		func(p *pass, c *infraSpec, m *providerSpec) {
			m.SystemDiskSize = sized(p, "systemDiskSize", c.SystemDiskSize, "20Gi")
		}),
	of.Words("bootType", "bootType", "An absent bootType means Legacy on both sides. Cluster API has no SecureBoot. ",
		conversion.Word{MachineAPI: "Legacy", ClusterAPI: "legacy"},
		conversion.Word{MachineAPI: "UEFI", ClusterAPI: "uefi"}),
	of.Iso(identifier("project"), identifier("project"), byEither+" A project with neither a type nor a value means the same as an absent "+
		"one.", projectTo, projectFrom),
	of.Iso(at("categories[].key", "categories[].value"), at("additionalCategories[].key", "additionalCategories[].value"),
		"A key and a value have 1 to 64 characters each, and no key may be listed twice. Machine API by itself gives each VM the category "+
			"kubernetes-io-cluster-CLUSTER with the value owned, by which an uninstall finds the VM. Cluster API's controller adds another category "+
			"instead, so the NutanixMachine also lists the category kubernetes-io-cluster-CLUSTER. If the machine lists this category itself, the value "+
			"must be owned.",
		categoriesTo, categoriesFrom),
	of.Iso(at("gpus[].type", "gpus[].name", "gpus[].deviceID"), at("gpus[].type", "gpus[].name", "gpus[].deviceID"),
		"The type Name becomes name, and DeviceID becomes deviceID.", gpusTo, gpusFrom),

	// The data disks.
	of.Iso(at("dataDisks"), at("dataDisks"), "The data disks keep their order.", disksTo, disksFrom).With(Disks.Lines(), "dataDisks[]", "dataDisks[]"),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName",
		"bootstrapRef.kind", "bootstrapRef.name", "bootstrapRef.namespace", "bootstrapRef.apiVersion"),
		"The Secret is required on both sides, because Cluster API creates no Machine without bootstrap data. Windows Machines without an instance cannot "+
			"move. Cluster API's controller sets bootstrapRef. A bootstrapRef that names anything except the Machine's bootstrap data Secret is an error.",
		userDataTo, userDataFrom),
	of.OnlyCAPI("bootstrapRef.uid", noDetail),
	of.OnlyCAPI("bootstrapRef.resourceVersion", noDetail),
	of.OnlyCAPI("bootstrapRef.fieldPath", noDetail),
	of.Iso(at("credentialsSecret.name"), nil,
		"The Secret must be the cluster's own credentials Secret, or absent, which means the same. Cluster API takes its credentials from the "+
			"NutanixCluster.",
		credentialsTo, credentialsFrom),
}

var disk conversion.Rows[machinev1.NutanixVMDisk, VMDisk]

// Disks converts one data disk.
var Disks = conversion.Table[machinev1.NutanixVMDisk, VMDisk]{
	disk.Iso(at("diskSize"), at("diskSize"), "The size must be at least 1Gi.",
		func(p *pass, m *machinev1.NutanixVMDisk, c *VMDisk) {
			c.DiskSize = sized(p, "diskSize", m.DiskSize, "1Gi")
		},
		func(p *pass, c *VMDisk, m *machinev1.NutanixVMDisk) {
			m.DiskSize = sized(p, "diskSize", c.DiskSize, "1Gi")
		}),
	disk.Iso(at("deviceProperties.deviceType", "deviceProperties.adapterType", "deviceProperties.deviceIndex"),
		at("deviceProperties.deviceType", "deviceProperties.adapterType", "deviceProperties.deviceIndex"),
		"A Disk can be on any adapter. A CDRom can only be on IDE, which is the only adapter that both APIs accept for a CDRom: besides IDE, Machine API "+
			"accepts only SATA, and Cluster API's controller accepts only PCI.", deviceTo, deviceFrom),
	disk.Iso(at("storageConfig.diskMode", "storageConfig.storageContainer.type", "storageConfig.storageContainer.uuid"),
		at("storageConfig.diskMode", "storageConfig.storageContainer.type", "storageConfig.storageContainer.uuid"),
		"Machine API names a storage container only by its UUID, so a name in Cluster API is an error.", storageTo, storageFrom),
	disk.OnlyCAPI("storageConfig.storageContainer.name", "Machine API names a storage container only by its UUID: set uuid, and remove name"),
	disk.Iso(identifier("dataSource"), identifier("dataSource"), byEither, sourceTo, sourceFrom),
}
