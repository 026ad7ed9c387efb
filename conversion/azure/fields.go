// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

type (
	providerSpec = machinev1beta1.AzureMachineProviderSpec
	infraSpec    = azurev1.AzureMachineSpec
	pass         = conversion.Pass
)

// at is a short name for conversion.At, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

// elsewhere returns the path of a field in another object than the table's two types (conversion.Elsewhere).
func elsewhere(object, path string) string { return object + conversion.Elsewhere + path }

var of conversion.Rows[providerSpec, infraSpec]

// These are reasons that more than one row gives.
const (
	byImageID = "Machine API names an image by its resource id: give image.id, which for a gallery's image is " +
		"/subscriptions/…/galleries/GALLERY/images/NAME/versions/VERSION"
	noSystemID = "Machine API uses only an identity that exists: set identity to UserAssigned, name the identity, and remove systemAssignedIdentityRole"
)

// Fields converts a providerSpec into the spec of an AzureMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"Written as AzureMachineProviderSpec of machine.openshift.io/v1beta1. Any value is read, except another platform's kind: "+
			"the Machine API goes by the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "metadata inside a providerSpec means nothing: remove it"),

	// Where it runs.
	of.Iso(at("location", elsewhere("Infrastructure", "status.platformStatus.azure.cloudName")),
		at(elsewhere("AzureCluster", "spec.location"), elsewhere("AzureCluster", "spec.azureEnvironment"), elsewhere("AzureCluster", "spec.subscriptionID"),
			elsewhere("AzureCluster", "spec.extendedLocation")),
		"Must be the cluster's region, or absent, which means the same. Both sides must be in the same cloud and subscription (else the message has the "+
			"command), and in no extended location. Spaces and case do not matter: West US is westus.",
		locationTo, locationFrom),
	of.Iso(at("resourceGroup"), at(elsewhere("AzureCluster", "spec.resourceGroup")),
		"Must be the cluster's resource group; absent is the Infrastructure's. Case does not matter.", groupTo, groupFrom),
	of.Iso(at("zone"), at(elsewhere("Machine", "spec.failureDomain"), "failureDomain", elsewhere("AzureCluster", "status.failureDomains")),
		"Becomes the Machine's failureDomain. An AzureMachine's own failureDomain comes back as the zone, if the Machine's is absent or the same. A "+
			"MachineSet needs a zone, unless its machines are spot machines or the AzureCluster's status lists the region's zones: without one each API "+
			"would put new machines into an availability set of another name, Cluster API even in a region with zones. The message has the command.",
		zoneTo, zoneFrom),
	of.OnlyMAPI("availabilitySet",
		"Cluster API uses availability sets only in regions without zones, and names them itself: remove it from a Machine that has an instance, which "+
			"stays in its availability set. Keep a MachineSet that needs it with Machine API"),
	of.Iso(at("capacityReservationGroupID"), at("capacityReservationGroupID"), "A resource id.", reservationTo, reservationFrom),

	// The instance.
	of.Iso(at("vmSize"), at("vmSize"),
		"Required on both sides. Azure takes a size in any case, and Cluster API's provider only as Azure lists it, so Standard_D4s_V3 becomes Standard_D4s_v3.",
		sizeTo, sizeFrom),
	of.Iso(at("image.publisher", "image.offer", "image.sku", "image.version", "image.resourceID", "image.type"),
		at("image.id", "image.marketplace.publisher", "image.marketplace.offer", "image.marketplace.sku", "image.marketplace.version",
			"image.marketplace.thirdPartyImage"),
		"resourceID is image.id, which begins with the cluster's subscription: Machine API leaves that out. publisher, offer, sku and version are "+
			"image.marketplace; type MarketplaceWithPlan is thirdPartyImage, and an absent type is MarketplaceNoPlan or, with a resourceID, ID; with a "+
			"resourceID it comes back absent, as Machine API's webhook wants it. Required on both sides: without an image Cluster API takes one of a "+
			"community gallery.",
		imageTo, imageFrom),
	of.OnlyCAPI("image.computeGallery.*", byImageID),
	of.OnlyCAPI("image.sharedGallery.*", byImageID),
	of.Iso(at("tags", elsewhere("Infrastructure", "status.platformStatus.azure.resourceTags")),
		at("additionalTags", elsewhere("AzureCluster", "spec.additionalTags")),
		"Copied, if Azure accepts them together with the tags that Cluster API adds. Machine API adds the cluster's mark and the Infrastructure's "+
			"resourceTags to each machine, so the mirror has them too, unless the AzureCluster has them. A tag that only the AzureCluster has must be named "+
			"in the machine; on the way back the mirror names it, except in a control plane Machine.",
		tagsTo, tagsFrom),
	of.Iso(at("managedIdentity"), at("identity", "userAssignedIdentities[].providerID"),
		"A name is an identity of the machine's resource group; an identity of another group is named by its resource id. Both become the one "+
			"userAssignedIdentity: azure:// and the resource id. Absent is None. Cluster API's provider compares the id letter by letter with the virtual "+
			"machine's, and fails a Machine for good if they differ: if Azure spells the id differently, give the whole id as Azure spells it.",
		identityTo, identityFrom),
	of.OnlyCAPI("systemAssignedIdentityRole.*", noSystemID),
	of.OnlyCAPI("roleAssignmentName", noSystemID),
	of.Iso(at("sshPublicKey"), at("sshPublicKey"),
		"In base64. If it is absent, both APIs generate a key that nobody has: Machine API for the instance only, and the AzureMachine's webhook in the "+
			"object, from which it comes back.",
		sshTo, sshFrom),
	of.Iso(at("ultraSSDCapability"), at("additionalCapabilities.ultraSSDEnabled"),
		"Enabled is true, Disabled is false. If it is absent, both APIs enable it if a data disk is an UltraSSD.", ultraTo, ultraFrom),
	of.Iso(at("spotVMOptions.maxPrice"), at("spotVMOptions.maxPrice", "spotVMOptions.evictionPolicy"),
		"An empty object means something: a spot machine at up to the price on demand. evictionPolicy is always Delete, which Machine API requests since "+
			"4.19. If it is absent, the AzureMachine's webhook sets Deallocate or, with an ephemeral OS disk, Delete.",
		spotTo, spotFrom),
	of.Iso(at("diagnostics.boot.storageAccountType", "diagnostics.boot.customerManaged.storageAccountURI"),
		at("diagnostics.boot.storageAccountType", "diagnostics.boot.userManaged.storageAccountURI"),
		"AzureManaged is Managed, CustomerManaged is UserManaged. If it is absent, Machine API has no boot diagnostics, so absent becomes Disabled; Cluster "+
			"API would have Managed ones.",
		diagnosticsTo, diagnosticsFrom),
	of.Iso(at("securityProfile.encryptionAtHost", "securityProfile.settings.securityType",
		"securityProfile.settings.confidentialVM.uefiSettings.secureBoot", "securityProfile.settings.confidentialVM.uefiSettings.virtualizedTrustedPlatformModule",
		"securityProfile.settings.trustedLaunch.uefiSettings.secureBoot", "securityProfile.settings.trustedLaunch.uefiSettings.virtualizedTrustedPlatformModule"),
		at("securityProfile.encryptionAtHost", "securityProfile.securityType", "securityProfile.uefiSettings.secureBootEnabled",
			"securityProfile.uefiSettings.vTpmEnabled"),
		"Enabled is true, Disabled is false. Cluster API creates a new Trusted Launch machine only with secure boot or the vTPM, so a template needs one of "+
			"the two enabled. Cluster API ignores encryptionAtHost on a new confidential machine, so a confidential template must not set it. A "+
			"confidential machine needs the vTPM and the OS disk's securityEncryptionType.",
		securityTo, securityFrom),
	of.Iso(at(elsewhere("Machine", "spec.providerID")), at("providerID"), "azure:// and the virtual machine's resource id. A template has none.",
		providerIDTo, providerIDFrom),
	of.Iso(nil, at("disableExtensionOperations"), "Always true: Machine API installs no extensions, and OpenShift's images have no agent to run one.",
		extensionsTo, extensionsFrom),
	of.OnlyCAPIBeyond("disableVMBootstrapExtension", "true", "Machine API installs no bootstrap extension."),
	of.OnlyCAPI("vmExtensions.*", "Machine API installs no extensions: remove them"),

	// User data and credentials.
	of.Iso(at("userDataSecret.name", "userDataSecret.namespace"), at(elsewhere("Machine", "spec.bootstrap.dataSecretName")),
		"Required on both sides: Cluster API creates no Machine without bootstrap data. The namespace must be Machine API's, or absent, which means the same.",
		userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name", "credentialsSecret.namespace"), nil,
		"Must be the cluster's own secret in Machine API's namespace, or absent, which means the same; Cluster API takes its credentials from the AzureCluster.",
		credentialsTo, credentialsFrom),

	// The network.
	of.Iso(at("networkResourceGroup"), at(elsewhere("AzureCluster", "spec.networkSpec.vnet.resourceGroup")),
		"Must be the resource group of the cluster's network; absent is the "+
			"Infrastructure's resourceGroupName. Case does not matter.", networkGroupTo, networkGroupFrom),
	of.Iso(at("vnet"), at(elsewhere("AzureCluster", "spec.networkSpec.vnet.name")), "Must be the cluster's network. Case does not matter.", vnetTo, vnetFrom),
	of.Iso(at("subnet", "acceleratedNetworking"),
		at("networkInterfaces[].subnetName", "networkInterfaces[].acceleratedNetworking",
			"networkInterfaces[].privateIPConfigs", "subnetName", "acceleratedNetworking"),
		"Exactly one interface, with one address. The mirror always sets acceleratedNetworking: if it is absent, Machine API takes false and Cluster API "+
			"chooses by the size. An absent subnetName is the AzureCluster's only subnet for the Machine's role. The fields outside networkInterfaces are "+
			"older names of the same settings.",
		interfaceTo, interfaceFrom),
	of.Iso(nil, at(elsewhere("AzureCluster", "spec.networkSpec.vnet.cidrBlocks"), elsewhere("Infrastructure", "status.platformStatus.azure.ipFamily")),
		"If the Infrastructure has two address families, the AzureCluster must name an IPv6 network: only then does Cluster API give new machines an IPv6 "+
			"address. Machine API reads the families from the subnet. The message has the command.",
		familiesTo, familiesFrom),
	of.Iso(at("publicIP"), at("allocatePublicIP"),
		"Workers only: Cluster API attaches no public address to a control plane Machine. The APIs name the address differently, so the deletion of an "+
			"instance that has moved does not delete its address.",
		publicIPTo, publicIPFrom),
	of.Iso(at("publicLoadBalancer"),
		at(elsewhere("AzureCluster", "spec.networkSpec.nodeOutboundLB.name"), elsewhere("AzureCluster", "spec.networkSpec.apiServerLB.name"),
			elsewhere("AzureCluster", "spec.networkSpec.controlPlaneOutboundLB.name")),
		"Must be the load balancer to which Cluster API attaches the machine. Cluster API attaches a worker to nodeOutboundLB, unless the worker has a "+
			"public address or its subnet a NAT gateway. If the cluster's user routes outbound traffic, there must be no nodeOutboundLB; the message has "+
			"the command. Cluster API attaches a control plane Machine to controlPlaneOutboundLB or, if apiServerLB is not Internal, to apiServerLB; if the "+
			"AzureCluster names other load balancers, as OpenShift's operator does, the message has the command.",
		publicBalancerTo, publicBalancerFrom),
	of.Iso(at("internalLoadBalancer"), at(elsewhere("AzureCluster", "spec.networkSpec.apiServerLB.type")),
		"Control plane Machines only: the AzureCluster's apiServerLB, if that is Internal.", internalBalancerTo, internalBalancerFrom),
	of.OnlyMAPI("natRule",
		"Cluster API creates its own inbound NAT rule for control plane Machines, and has no field for this: remove it if nobody logs in through it, else "+
			"keep the machine with Machine API"),
	of.Iso(at("securityGroup"), at(elsewhere("AzureCluster", "spec.networkSpec.subnets[].securityGroup.name")),
		"Cluster API attaches security groups only to subnets. So only the group of the machine's own subnet may be named: it has no effect, and does not "+
			"come back.",
		securityGroupTo, securityGroupFrom),
	of.OnlyMAPI("applicationSecurityGroups",
		"Cluster API has no application security groups: remove them if no rule of a security group names them, else keep the machine with Machine API"),
	of.OnlyCAPI("enableIPForwarding", "Machine API cannot switch IP forwarding on: set it to false, or remove it"),
	of.OnlyCAPI("dnsServers", "Machine API leaves the name servers to the network: remove them"),

	// The OS disk.
	of.Iso(at("osDisk.osType"), at("osDisk.osType"),
		"Linux; absent is Linux. A Windows machine without an instance cannot move: Machine API runs the user data at the first logon, and Cluster API "+
			"expects an agent in the image for that. A Windows machine with an instance can move, to Machine API only if the instance has the Machine's "+
			"name.",
		osTypeTo, osTypeFrom),
	of.Iso(at("osDisk.diskSizeGB"), at("osDisk.diskSizeGB"), "Required, because Cluster API would take the image's size. 1 to 2048.", osSizeTo, osSizeFrom),
	of.Iso(at("osDisk.cachingType"), at("osDisk.cachingType"), "Absent is None on both sides, and becomes that. An ephemeral disk is ReadOnly.",
		osCachingTo, osCachingFrom),
	of.Iso(at("osDisk.diskSettings.ephemeralStorageLocation"), at("osDisk.diffDiskSettings.option"),
		"Local, or absent. Cluster API takes no diskEncryptionSet beside it.", ephemeralTo, ephemeralFrom),
	of.OnlyCAPI("osDisk.diffDiskSettings.placement", "Machine API leaves the place of an ephemeral disk to Azure: remove it"),
	of.Iso(at("osDisk.managedDisk.storageAccountType", "osDisk.managedDisk.diskEncryptionSet.id",
		"osDisk.managedDisk.securityProfile.securityEncryptionType", "osDisk.managedDisk.securityProfile.diskEncryptionSet.id"),
		at("osDisk.managedDisk.storageAccountType", "osDisk.managedDisk.diskEncryptionSet.id",
			"osDisk.managedDisk.securityProfile.securityEncryptionType", "osDisk.managedDisk.securityProfile.diskEncryptionSet.id"),
		"If managedDisk is absent, both APIs leave the type of the disk to Azure. Otherwise storageAccountType is required, and cannot be UltraSSD. "+
			"securityProfile.diskEncryptionSet needs securityEncryptionType DiskWithVMGuestState.",
		managedTo, managedFrom),

	// The data disks.
	of.Iso(at("dataDisks"), at("dataDisks"), "In their order. Each name and each lun once.", disksTo, disksFrom).
		With(Disks.Lines(), "dataDisks[]", "dataDisks[]"),
}

var disk conversion.Rows[dataDisk, infraDisk]

// Disks converts one data disk.
var Disks = conversion.Table[dataDisk, infraDisk]{
	disk.Iso(at("nameSuffix"), at("nameSuffix"), "Letters, digits, _, . and -, the first and the last a letter or digit; at most 78.", suffixTo, suffixFrom),
	disk.Iso(at("diskSizeGB"), at("diskSizeGB"), "4 to 32767.", diskSizeTo, diskSizeFrom),
	disk.Iso(at("lun"), at("lun"), "0 to 63. In Cluster API an absent one is the lowest that is free.", lunTo, lunFrom),
	disk.Iso(at("cachingType"), at("cachingType"),
		"The mirror always sets it, because absent is None in Machine API, and ReadWrite in Cluster API (None for an UltraSSD, which allows only None).",
		cachingTo, cachingFrom),
	disk.Iso(at("managedDisk.storageAccountType", "managedDisk.diskEncryptionSet.id"), at("managedDisk.storageAccountType", "managedDisk.diskEncryptionSet.id"),
		"Standard_LRS, Premium_LRS or UltraSSD_LRS. The mirror always sets it, because absent is Premium_LRS in Machine API, and Azure's choice in Cluster API.",
		storageTo, storageFrom),
	disk.OnlyCAPI("managedDisk.securityProfile.*", "Machine API has a security profile for the OS disk only: remove it"),
	disk.Iso(at("deletionPolicy"), nil, "Must be Delete: Cluster API deletes every data disk with its machine.", deletionTo, deletionFrom),
}
