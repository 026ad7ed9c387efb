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

// at is conversion.At under a shorter name, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

var of conversion.Rows[providerSpec, infraSpec]

// Reasons that more than one row gives.
const (
	noGuestNetwork = "Machine API sets the guest's addresses, gateway and nameservers only: remove it"
	noDHCPOptions  = "Machine API has no options for DHCP: remove them"
	noRoutes       = "Machine API sets no routes: remove them"
)

// Fields converts a providerSpec into the spec of a VSphereMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"Written as VSphereMachineProviderSpec of machine.openshift.io/v1beta1. Any value is read, except another platform's kind: "+
			"the Machine API goes by the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "metadata inside a providerSpec means nothing: remove it"),

	// What is cloned, and how.
	of.Iso(at("template"), at("template"),
		"Required: a name, an inventory path or a managed object id. Not a UUID, despite the type's comment: Machine API's controllers do not look for one.",
		templateTo, templateFrom),
	of.Iso(at("cloneMode"), at("cloneMode"), "Absent, Machine API makes a fullClone and Cluster API a linkedClone: it is always said on the other side.",
		cloneModeTo, cloneModeFrom),
	of.Same("snapshot", "snapshot"),
	of.Iso(at("diskGiB"), at("diskGiB"),
		"Required for a fullClone, for which Machine API's controllers do not take the size from the template; a linkedClone ignores it on both sides.",
		diskTo, diskFrom),

	// The machine.
	of.Iso(at("numCPUs"), at("numCPUs"),
		"Required, and at least 2: Cluster API does not take it from the template and makes no fewer than 2. "+
			"An absent or smaller one of Cluster API becomes 2, as its controllers have it.",
		cpusTo, cpusFrom),
	of.Same("numCoresPerSocket", "numCoresPerSocket"),
	of.Iso(at("memoryMiB"), at("memoryMiB"),
		"Required: Cluster API does not take it from the template. An absent one of Cluster API becomes 2048, as its controllers have it.", memoryTo, memoryFrom),
	of.OnlyCAPI("resources.*", "Machine API has no reservations, limits or shares: remove them"),
	of.OnlyCAPI("pciDevices.*", "Machine API attaches no PCI devices: remove them"),
	of.OnlyCAPI("hardwareVersion", "Machine API keeps the hardware version of the template: remove it"),
	of.OnlyCAPIBeyond("os", "Linux", "Machine API gives a virtual machine the Machine's name, on Windows too, where Cluster API shortens it."),
	of.OnlyCAPIBeyond("namingStrategy.template", defaultName, "Machine API gives a virtual machine the Machine's name."),
	of.OnlyCAPIBeyond("powerOffMode", "hard", "Machine API powers off without asking the guest."),
	of.OnlyCAPI("guestSoftPowerOffTimeout", "Machine API powers off without asking the guest: remove it"),
	of.Iso(nil, at("customVMXKeys"),
		"Exactly stealclock.enable: TRUE, which Machine API sets on each virtual machine and Cluster API only on request. "+
			"Machine API also sets guestinfo.hostname, which no template can say: Cluster API names the host in guestinfo.metadata instead.",
		keysTo, keysFrom),
	of.Iso(at("tagIDs"), at("tagIDs"),
		"At most 10, each urn:vmomi:InventoryServiceTag:UUID:SCOPE. Machine API also attaches the tag that bears the cluster's name, by which an "+
			"uninstall finds what it must remove; Cluster API attaches only what is listed: list that tag's id.",
		tagsTo, tagsFrom),
	of.Iso(at("Machine"+conversion.Elsewhere+"spec.providerID"), at("providerID"), "vsphere:// and the virtual machine's BIOS UUID. A template has none.",
		providerIDTo, providerIDFrom),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName"),
		"Required on both sides: Cluster API creates no Machine without bootstrap data.", userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), at("VSphereCluster"+conversion.Elsewhere+"spec.identityRef"),
		"Must be the cluster's own secret, or absent, which means the same; Cluster API takes its credentials from the VSphereCluster.",
		credentialsTo, credentialsFrom),

	// Where it runs.
	of.Iso(at("workspace.server"), at("server", "VSphereCluster"+conversion.Elsewhere+"spec.server", "VSphereCluster"+conversion.Elsewhere+
		"metadata.annotations["+vcentersAnnotation+"]"),
		"Must be the VSphereCluster's (or, where it names none, the Infrastructure's only vCenter), or one for which the annotation says that the "+
			"VSphereCluster's identity is good there too: Cluster API logs in everywhere with that identity. An absent one of Cluster API is the "+
			"VSphereCluster's.",
		serverTo, serverFrom),
	of.Iso(nil, at("thumbprint", "VSphereCluster"+conversion.Elsewhere+"spec.thumbprint"), "Absent, or the VSphereCluster's, which means the same.",
		nothing, thumbprintFrom),
	of.Iso(at("workspace.datacenter"), at("datacenter"), "Absent is *, the only one, which Cluster API's webhook fills in.", datacenterTo, datacenterFrom),
	of.Iso(at("workspace.folder"), at("folder"),
		"Absent, or an absolute path below the datacenter, /DATACENTER/vm/…: Machine API's webhook takes no other. "+
			"Cluster API finds the virtual machine of a Machine that moves by folder and name: it must lie there.",
		folderTo, folderFrom),
	of.Iso(at("workspace.datastore"), at("datastore"), "A failure domain's, where one is named.", datastoreTo, datastoreFrom),
	of.Iso(at("workspace.resourcePool"), at("resourcePool"), "A failure domain's, where one is named.", poolTo, poolFrom),
	of.Iso(at("workspace.vmGroup"),
		at("failureDomain", "Machine"+conversion.Elsewhere+"spec.failureDomain", "VSphereCluster"+conversion.Elsewhere+"status.failureDomains"),
		"A failure domain's name where the Infrastructure has one that places machines exactly so (server, datacenter, folder, datastore, resourcePool, "+
			"networks and vmGroup) and the VSphereCluster offers it: by its status, and a spec.failureDomainSelector, which says that there are "+
			"VSphereDeploymentZones. Else none, and then there can be no vmGroup. "+
			"The VSphereDeploymentZone of that name must place as the Infrastructure says.",
		groupTo, groupFrom),
	of.OnlyCAPI("storagePolicyName", "Machine API places disks by datastore, not by policy: remove it"),

	// The network.
	of.Iso(at("network.devices"), at("network.devices"), "One to ten, in their order.", devicesTo, devicesFrom).With(Devices.Lines(),
		"network.devices[]", "network.devices[]"),
	of.OnlyCAPI("network.routes.*", noRoutes),
	of.OnlyCAPI("network.preferredAPIServerCidr", "Machine API has no preferred network, and Cluster API's webhook refuses this field: remove it"),

	// The disks besides that of the template.
	of.Iso(at("dataDisks"), at("dataDisks"), "At most 29, in their order; a name that is given twice is an error.",
		disksTo, disksFrom).With(Disks.Lines(), "dataDisks[]", "dataDisks[]"),
	of.OnlyCAPI("additionalDisksGiB", "Machine API clones templates with one disk only: use dataDisks"),
}

var device conversion.Rows[mapiDevice, capiDevice]

// Devices converts one network device.
var Devices = conversion.Table[mapiDevice, capiDevice]{
	device.Iso(at("networkName"), at("networkName"),
		"Required: the plain name of a network, which Machine API compares with those of the cluster's. A path, a managed object id or a pattern is an "+
			"error, for Machine API would not find it.",
		networkTo, networkFrom),
	device.Iso(at("ipAddrs"), at("ipAddrs", "dhcp4", "dhcp6"),
		"In CIDR notation, and not in a template. Where there are neither addresses nor pools Machine API implies DHCP: "+
			"dhcp4, and dhcp6 where the Infrastructure's machineNetworks are IPv6 (too). "+
			"Machine API hands addresses to the guest as kernel arguments, Cluster API in guestinfo.metadata, which RHCOS does not read: "+
			"only Machines that have an instance can go with them.",
		addressesTo, addressesFrom),
	device.Iso(at("gateway"), at("gateway4", "gateway6"), "By its family; Machine API has one.", gatewayTo, gatewayFrom),
	device.Iso(at("nameservers"), at("nameservers"), "IP addresses, in their order.", nameserversTo, nameserversFrom),
	device.Iso(at("addressesFromPools[].group", "addressesFromPools[].resource", "addressesFromPools[].name"),
		at("addressesFromPools[].apiGroup", "addressesFromPools[].kind", "addressesFromPools[].name"),
		"resource is kind, letter by letter: Machine API's controllers claim an address from a pool of that kind. "+
			"The pool is one in the Machine's own namespace, which differs between the APIs. Only Machines that have an instance can go, and none with a "+
			"pool of the installer's.",
		poolsTo, poolsFrom),
	device.OnlyCAPI("deviceName", noGuestNetwork),
	device.OnlyCAPI("mtu", noGuestNetwork),
	device.OnlyCAPI("macAddr", "Machine API lets vSphere choose the address: remove it"),
	device.OnlyCAPI("routes.*", noRoutes),
	device.OnlyCAPI("searchDomains", noGuestNetwork),
	device.OnlyCAPI("dhcp4Overrides.*", noDHCPOptions),
	device.OnlyCAPI("dhcp6Overrides.*", noDHCPOptions),
	device.OnlyCAPI("skipIPAllocation", "Machine API waits for an address on each device: set it to false, or remove it"),
}

var disk conversion.Rows[mapiDisk, capiDisk]

// Disks converts one data disk.
var Disks = conversion.Table[mapiDisk, capiDisk]{
	disk.Iso(at("name"), at("name"), "Required: 1 to 80 letters, digits, hyphens and underscores, with a letter or digit first and last.",
		diskNameTo, diskNameFrom),
	disk.Iso(at("sizeGiB"), at("sizeGiB"), "1 to 16384.", diskSizeTo, diskSizeFrom),
	disk.Words("provisioningMode", "provisioningMode", "",
		conversion.Word{MachineAPI: "Thin", ClusterAPI: "Thin"},
		conversion.Word{MachineAPI: "Thick", ClusterAPI: "Thick"},
		conversion.Word{MachineAPI: "EagerlyZeroed", ClusterAPI: "EagerlyZeroed"}),
}
