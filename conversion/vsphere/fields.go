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
		"Required: a name, an inventory path or a managed object id. Machine API's controllers do not find a UUID, despite the type's comment.",
		templateTo, templateFrom),
	of.Iso(at("cloneMode"), at("cloneMode"), "If it is absent, Machine API makes a fullClone and Cluster API a linkedClone, so the conversion always sets it.",
		cloneModeTo, cloneModeFrom),
	of.Same("snapshot", "snapshot"),
	of.Iso(at("diskGiB"), at("diskGiB"),
		"Required for a fullClone, because Machine API's controllers do not take its size from the template. A linkedClone ignores it on both sides.",
		diskTo, diskFrom),

	// The machine.
	of.Iso(at("numCPUs"), at("numCPUs"),
		"Required, and at least 2: Cluster API does not take the number from the template, and creates no machine with fewer than 2. An absent or smaller "+
			"number in Cluster API comes back as 2, because its controllers use 2.",
		cpusTo, cpusFrom),
	of.Same("numCoresPerSocket", "numCoresPerSocket"),
	of.Iso(at("memoryMiB"), at("memoryMiB"),
		"Required: Cluster API does not take the size from the template. An absent size in Cluster API comes back as 2048, because its controllers use "+
			"2048.", memoryTo, memoryFrom),
	of.OnlyCAPI("resources.*", "Machine API has no reservations, limits or shares: remove them"),
	of.OnlyCAPI("pciDevices.*", "Machine API attaches no PCI devices: remove them"),
	of.OnlyCAPI("hardwareVersion", "Machine API keeps the hardware version of the template: remove it"),
	of.OnlyCAPIBeyond("os", "Linux", "Machine API gives a virtual machine the Machine's name. For Windows, Cluster API shortens the name."),
	of.OnlyCAPIBeyond("namingStrategy.template", defaultName, "Machine API gives a virtual machine the Machine's name."),
	of.OnlyCAPIBeyond("powerOffMode", "hard", "Machine API powers off without asking the guest."),
	of.OnlyCAPI("guestSoftPowerOffTimeout", "Machine API powers off without asking the guest: remove it"),
	of.Iso(nil, at("customVMXKeys"),
		"Exactly stealclock.enable: TRUE. Machine API sets this key on each virtual machine, Cluster API only on request. Machine API also sets "+
			"guestinfo.hostname, which a template cannot have: Cluster API names the host in guestinfo.metadata instead.",
		keysTo, keysFrom),
	of.Iso(at("tagIDs"), at("tagIDs"),
		"At most 10, each urn:vmomi:InventoryServiceTag:UUID:SCOPE. Machine API also attaches the tag with the cluster's name, by which an uninstall finds "+
			"what to remove. Cluster API attaches only listed tags, so list the id of this tag.",
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
		"Must be the VSphereCluster's server or, if the VSphereCluster names none, the Infrastructure's only vCenter. It may also be a vCenter that the "+
			"VSphereCluster's annotation lists, because the VSphereCluster's identity is valid there too: Cluster API logs in to every vCenter with this "+
			"identity. Absent in Cluster API is the VSphereCluster's server.",
		serverTo, serverFrom),
	of.Iso(nil, at("thumbprint", "VSphereCluster"+conversion.Elsewhere+"spec.thumbprint"), "Absent, or the VSphereCluster's, which means the same.",
		nothing, thumbprintFrom),
	of.Iso(at("workspace.datacenter"), at("datacenter"), "Absent is *, the only datacenter, which Cluster API's webhook sets.", datacenterTo, datacenterFrom),
	of.Iso(at("workspace.folder"), at("folder"),
		"Absent, or an absolute path below the datacenter, /DATACENTER/vm/…: Machine API's webhook takes no other. Cluster API finds the virtual machine of "+
			"a Machine that moves by folder and name, so the virtual machine must be in this folder.",
		folderTo, folderFrom),
	of.Iso(at("workspace.datastore"), at("datastore"), "The failure domain's, if a failure domain is named.", datastoreTo, datastoreFrom),
	of.Iso(at("workspace.resourcePool"), at("resourcePool"), "The failure domain's, if a failure domain is named.", poolTo, poolFrom),
	of.Iso(at("workspace.vmGroup"),
		at("failureDomain", "Machine"+conversion.Elsewhere+"spec.failureDomain", "VSphereCluster"+conversion.Elsewhere+"status.failureDomains"),
		"The name of the Infrastructure's failure domain that has exactly this placement (server, datacenter, folder, datastore, resourcePool, networks and "+
			"vmGroup), if the VSphereCluster offers it: it has the failure domain in its status, and a spec.failureDomainSelector, which shows that there "+
			"are VSphereDeploymentZones. Otherwise absent, and then a vmGroup is an error. The VSphereDeploymentZone of this name must have the placement "+
			"of the Infrastructure's failure domain.",
		groupTo, groupFrom),
	of.OnlyCAPI("storagePolicyName", "Machine API places disks by datastore, not by policy: remove it"),

	// The network.
	of.Iso(at("network.devices"), at("network.devices"), "One to ten, in their order.", devicesTo, devicesFrom).With(Devices.Lines(),
		"network.devices[]", "network.devices[]"),
	of.OnlyCAPI("network.routes.*", noRoutes),
	of.OnlyCAPI("network.preferredAPIServerCidr", "Machine API has no preferred network, and Cluster API's webhook refuses this field: remove it"),

	// The disks besides that of the template.
	of.Iso(at("dataDisks"), at("dataDisks"), "At most 29, in their order. A name that is given twice is an error.",
		disksTo, disksFrom).With(Disks.Lines(), "dataDisks[]", "dataDisks[]"),
	of.OnlyCAPI("additionalDisksGiB", "Machine API clones templates with one disk only: use dataDisks"),
}

var device conversion.Rows[mapiDevice, capiDevice]

// Devices converts one network device.
var Devices = conversion.Table[mapiDevice, capiDevice]{
	device.Iso(at("networkName"), at("networkName"),
		"Required: the plain name of a network, which Machine API compares with the names of the cluster's networks. A path, a managed object id or a "+
			"pattern is an error, because Machine API would not find it.",
		networkTo, networkFrom),
	device.Iso(at("ipAddrs"), at("ipAddrs", "dhcp4", "dhcp6"),
		"In CIDR notation, and not in a template. Without addresses and pools Machine API uses DHCP: dhcp4, and dhcp6 if the Infrastructure's "+
			"machineNetworks include IPv6. Machine API passes addresses to the guest as kernel arguments. Cluster API passes them in guestinfo.metadata, "+
			"which RHCOS does not read, so only Machines that have an instance can move with addresses.",
		addressesTo, addressesFrom),
	device.Iso(at("gateway"), at("gateway4", "gateway6"), "By its family; Machine API has only one gateway.", gatewayTo, gatewayFrom),
	device.Iso(at("nameservers"), at("nameservers"), "IP addresses, in their order.", nameserversTo, nameserversFrom),
	device.Iso(at("addressesFromPools[].group", "addressesFromPools[].resource", "addressesFromPools[].name"),
		at("addressesFromPools[].apiGroup", "addressesFromPools[].kind", "addressesFromPools[].name"),
		"resource is kind, letter by letter: Machine API's controllers claim an address from a pool of this kind. The pool is in the Machine's own "+
			"namespace, which differs between the APIs. Only Machines that have an instance can move, and no Machine with a pool of the installer.",
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
