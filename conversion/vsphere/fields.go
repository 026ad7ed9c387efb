// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

type (
	providerSpec = machinev1beta1.VSphereMachineProviderSpec
	infraSpec    = vspherev1.VSphereMachineSpec
	pass         = conversion.Pass
)

// at is a short name for conversion.At, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

var of conversion.Rows[providerSpec, infraSpec]

// These are reasons that more than one row gives.
const (
	noGuestNetwork = "Machine API sets only the addresses, the gateway and the nameservers of a network device: remove this field"
	noDHCPOptions  = "Machine API has no options for DHCP: remove these overrides"
	noRoutes       = "Machine API sets no routes on a network device: remove the routes"
)

// Fields converts a providerSpec into the spec of a VSphereMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"The conversion writes VSphereMachineProviderSpec of machine.openshift.io/v1beta1. It accepts any value except the kind of another platform, "+
			"because Machine API does not read these fields: it uses the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "neither API reads metadata inside a providerSpec: remove it"),

	// What is cloned, and how.
	of.Iso(at("template"), at("template"),
		"The template is required. It is given by its name, its inventory path or its managed object id. A UUID is an error, because Machine API's "+
			"controllers do not find a template by its UUID, although the comment in the API's type says that they do.",
		templateTo, templateFrom),
	of.Iso(at("cloneMode"), at("cloneMode"),
		"The conversion always sets the mode, because an absent mode means fullClone in Machine API, but linkedClone in Cluster API.",
		cloneModeTo, cloneModeFrom),
	of.Same("snapshot", "snapshot"),
	of.Iso(at("diskGiB"), at("diskGiB"),
		"The size is required for a fullClone, because Machine API's controllers do not take the size from the template. Both APIs ignore the size for a "+
			"linkedClone.",
		diskTo, diskFrom),

	// The machine.
	of.Iso(at("numCPUs"), at("numCPUs"),
		"The number is required, because Cluster API does not take it from the template. It must be at least 2, because Cluster API creates no machine "+
			"with fewer CPUs. An absent or smaller number in Cluster API comes back as 2, because Cluster API's controllers then use 2.",
		cpusTo, cpusFrom),
	of.Iso(at("numCoresPerSocket"), at("numCoresPerSocket"), "The number must not be negative.", perSocketTo, perSocketFrom),
	of.Iso(at("memoryMiB"), at("memoryMiB"),
		"The size is required, because Cluster API does not take it from the template. An absent size in Cluster API comes back as 2048, because Cluster "+
			"API's controllers then use 2048.", memoryTo, memoryFrom),
	of.OnlyCAPI("resources.*", "Machine API has no reservations, limits or shares of CPU and memory: remove them"),
	of.OnlyCAPI("pciDevices.*", "Machine API attaches no PCI devices: remove them"),
	of.OnlyCAPI("hardwareVersion", "Machine API always uses the hardware version of the template: remove it"),
	of.OnlyCAPIBeyond("os", "Linux", "Machine API gives a virtual machine the Machine's name, but Cluster API shortens the name of a Windows machine."),
	of.OnlyCAPIBeyond("namingStrategy.template", defaultName, "Machine API always gives a virtual machine the Machine's name."),
	of.OnlyCAPIBeyond("powerOffMode", "hard", "Machine API always powers a virtual machine off without asking the guest."),
	of.OnlyCAPI("guestSoftPowerOffTimeout", "Machine API powers a virtual machine off without asking the guest, and so has no timeout: remove it"),
	of.Iso(nil, at("customVMXKeys"),
		"The only key must be stealclock.enable, with the value TRUE. Machine API sets this key on each virtual machine, but Cluster API only if the key "+
			"is listed. Machine API also sets guestinfo.hostname. A template cannot list this key, because the value differs from machine to machine. "+
			"Cluster API passes the host name in guestinfo.metadata instead.",
		keysTo, keysFrom),
	of.Iso(at("tagIDs"), at("tagIDs"),
		"There may be at most 10 ids, each of the form urn:vmomi:InventoryServiceTag:UUID:SCOPE. Machine API also attaches the tag with the cluster's "+
			"name, by which an uninstall finds what it must remove. Cluster API attaches only the listed tags, so list the id of the tag with the "+
			"cluster's name.",
		tagsTo, tagsFrom),
	of.Iso(at("Machine"+conversion.Elsewhere+"spec.providerID"), at("providerID"),
		"The provider id is vsphere:// and the virtual machine's BIOS UUID. A template has no provider id.",
		providerIDTo, providerIDFrom),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName"),
		"The Secret is required on both sides, because Cluster API creates no Machine without bootstrap data.", userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), at("VSphereCluster"+conversion.Elsewhere+"spec.identityRef"),
		"The Secret must be the cluster's own credentials Secret, or absent, which means the same. Cluster API takes its credentials from the "+
			"VSphereCluster.",
		credentialsTo, credentialsFrom),

	// Where it runs.
	of.Iso(at("workspace.server"), at("server", "VSphereCluster"+conversion.Elsewhere+"spec.server", "VSphereCluster"+conversion.Elsewhere+
		"metadata.annotations["+vcentersAnnotation+"]"),
		"The server must be the VSphereCluster's server or, if the VSphereCluster names none, the Infrastructure's only vCenter. It may also be a vCenter "+
			"that is listed in the VSphereCluster's annotation poundlock.openshift.io/vcenters. The annotation lists the vCenters for which the "+
			"VSphereCluster's identity is valid too, because Cluster API logs in to every vCenter with this identity. An absent server in Cluster API "+
			"means the VSphereCluster's server.",
		serverTo, serverFrom),
	of.Iso(nil, at("thumbprint", "VSphereCluster"+conversion.Elsewhere+"spec.thumbprint"),
		"The thumbprint must be the VSphereCluster's, or absent, which means the same.",
		nothing, thumbprintFrom),
	of.Iso(at("workspace.datacenter"), at("datacenter"),
		"An absent datacenter becomes *, which means the only datacenter, and which Cluster API's webhook would set.", datacenterTo, datacenterFrom),
	of.Iso(at("workspace.folder"), at("folder"),
		"The folder is absent, or an absolute path below the datacenter: /DATACENTER/vm/…. Machine API's webhook accepts no other path. If a Machine "+
			"moves, Cluster API finds its virtual machine by folder and name, so the virtual machine must be in this folder.",
		folderTo, folderFrom),
	of.Iso(at("workspace.datastore"), at("datastore"), "If a failure domain is named, this is the value of the failure domain.", datastoreTo, datastoreFrom),
	of.Iso(at("workspace.resourcePool"), at("resourcePool"), "If a failure domain is named, this is the value of the failure domain.", poolTo, poolFrom),
	of.Iso(at("workspace.vmGroup"),
		at("failureDomain", "Machine"+conversion.Elsewhere+"spec.failureDomain", "VSphereCluster"+conversion.Elsewhere+"status.failureDomains"),
		"The mirror has the name of the Infrastructure's failure domain with exactly this placement: server, datacenter, folder, datastore, resourcePool, "+
			"networks and vmGroup. It has this name only if the VSphereCluster offers the failure domain: its status lists the failure domain, and it has "+
			"spec.failureDomainSelector, which shows that there are VSphereDeploymentZones. The VSphereDeploymentZone of this name must have the placement "+
			"of the Infrastructure's failure domain. In all other cases the mirror has no failure domain, and a vmGroup is an error.",
		groupTo, groupFrom),
	of.OnlyCAPI("storagePolicyName", "Machine API chooses the place of a disk by a datastore, not by a storage policy: remove it"),

	// The network.
	of.Iso(at("network.devices"), at("network.devices"),
		"There are one to ten network devices, which keep their order.", devicesTo, devicesFrom).With(Devices.Lines(),
		"network.devices[]", "network.devices[]"),
	of.OnlyCAPI("network.routes.*", noRoutes),
	of.OnlyCAPI("network.preferredAPIServerCidr",
		"Machine API has no preferred network for the API server, and Cluster API's webhook refuses this field: remove it"),

	// The disks besides that of the template.
	of.Iso(at("dataDisks"), at("dataDisks"), "There are at most 29 data disks, which keep their order. Two data disks with the same name are an error.",
		disksTo, disksFrom).With(Disks.Lines(), "dataDisks[]", "dataDisks[]"),
	of.OnlyCAPI("additionalDisksGiB", "Machine API clones only templates with one disk: remove additionalDisksGiB, and use dataDisks"),
}

var device conversion.Rows[mapiDevice, capiDevice]

// Devices converts one network device.
var Devices = conversion.Table[mapiDevice, capiDevice]{
	device.Iso(at("networkName"), at("networkName"),
		"The name is required. It must be the plain name of a network, because Machine API compares it with the names of the cluster's networks. A path, a "+
			"managed object id or a pattern is an error, because Machine API would not find the network.",
		networkTo, networkFrom),
	device.Iso(at("ipAddrs"), at("ipAddrs", "dhcp4", "dhcp6"),
		"Addresses are in CIDR notation, and a template can have none. If a device has neither addresses nor pools, Machine API uses DHCP for the families "+
			"of the Infrastructure's machineNetworks, so the mirror has dhcp4, dhcp6 or both. Machine API passes addresses to the guest as kernel "+
			"arguments. Cluster API passes addresses in guestinfo.metadata, which RHCOS does not read, so a Machine can move with addresses only if it has "+
			"an instance.",
		addressesTo, addressesFrom),
	device.Iso(at("gateway"), at("gateway4", "gateway6"),
		"The gateway becomes gateway4 or gateway6, according to its family. Machine API has only one gateway for a device.", gatewayTo, gatewayFrom),
	device.Iso(at("nameservers"), at("nameservers"), "The values are IP addresses, which keep their order.", nameserversTo, nameserversFrom),
	device.Iso(at("addressesFromPools[].group", "addressesFromPools[].resource", "addressesFromPools[].name"),
		at("addressesFromPools[].apiGroup", "addressesFromPools[].kind", "addressesFromPools[].name"),
		"The resource becomes the kind unchanged, because Machine API's controllers claim an address from a pool of the kind that resource names. The pool "+
			"is in the Machine's own namespace, which is another one in each API. A Machine with a pool can move only if it has an instance, and only if "+
			"the pool is not one of the installer's.",
		poolsTo, poolsFrom),
	device.OnlyCAPI("deviceName", noGuestNetwork),
	device.OnlyCAPI("mtu", noGuestNetwork),
	device.OnlyCAPI("macAddr", "Machine API lets vSphere choose the MAC address: remove it"),
	device.OnlyCAPI("routes.*", noRoutes),
	device.OnlyCAPI("searchDomains", noGuestNetwork),
	device.OnlyCAPI("dhcp4Overrides.*", noDHCPOptions),
	device.OnlyCAPI("dhcp6Overrides.*", noDHCPOptions),
	device.OnlyCAPI("skipIPAllocation", "Machine API waits for an IP address on each network device: set skipIPAllocation to false, or remove it"),
}

var disk conversion.Rows[mapiDisk, capiDisk]

// Disks converts one data disk.
var Disks = conversion.Table[mapiDisk, capiDisk]{
	disk.Iso(at("name"), at("name"),
		"The name is required. It has 1 to 80 characters: letters, digits, hyphens and underscores. The first and the last are a letter or digit.",
		diskNameTo, diskNameFrom),
	disk.Iso(at("sizeGiB"), at("sizeGiB"), "The size is 1 to 16384 GiB.", diskSizeTo, diskSizeFrom),
	disk.Words("provisioningMode", "provisioningMode", "",
		conversion.Word{MachineAPI: "Thin", ClusterAPI: "Thin"},
		conversion.Word{MachineAPI: "Thick", ClusterAPI: "Thick"},
		conversion.Word{MachineAPI: "EagerlyZeroed", ClusterAPI: "EagerlyZeroed"}),
}
