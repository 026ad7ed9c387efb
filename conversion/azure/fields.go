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

// at is conversion.At under a shorter name, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

// elsewhere returns the path of a field in an object that is of neither of the table's two types (conversion.Elsewhere).
func elsewhere(object, path string) string { return object + conversion.Elsewhere + path }

var of conversion.Rows[providerSpec, infraSpec]

// Reasons that more than one row gives.
const (
	byImageID = "Machine API names an image by its resource id: give image.id, which for a gallery's image is " +
		"/subscriptions/…/galleries/GALLERY/images/NAME/versions/VERSION"
	noSystemID = "Machine API uses only an identity that exists: name one with identity UserAssigned, and remove systemAssignedIdentityRole"
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
		"Must be the cluster's region, or absent, which means the same; both sides must mean the same cloud and subscription (else the message has the "+
			"command), and no extended location. Spaces and case do not matter: West US is westus.",
		locationTo, locationFrom),
	of.Iso(at("resourceGroup"), at(elsewhere("AzureCluster", "spec.resourceGroup")),
		"Must be the cluster's resource group; absent is the Infrastructure's. Case does not matter.", groupTo, groupFrom),
	of.Iso(at("zone"), at(elsewhere("Machine", "spec.failureDomain"), "failureDomain", elsewhere("AzureCluster", "status.failureDomains")),
		"Goes to the Machine. An AzureMachine's own failureDomain comes back as the zone, if the Machine's is absent or the same. "+
			"A MachineSet needs one, unless its machines are spot machines or the AzureCluster's status lists the region's zones: each API would put new ones "+
			"into an availability set of another name, Cluster API in a region with zones too. The message has the command.",
		zoneTo, zoneFrom),
	of.OnlyMAPI("availabilitySet",
		"Cluster API uses availability sets in regions without zones only, and names them itself: remove it from a Machine that exists, as its instance stays in "+
			"the availability set. Keep a MachineSet that needs it with Machine API"),
	of.Iso(at("capacityReservationGroupID"), at("capacityReservationGroupID"), "A resource id.", reservationTo, reservationFrom),

	// The instance.
	of.Iso(at("vmSize"), at("vmSize"),
		"Required on both sides. Azure takes a size in any case, and Cluster API's provider only as Azure lists it, so Standard_D4s_V3 becomes Standard_D4s_v3.",
		sizeTo, sizeFrom),
	of.Iso(at("image.publisher", "image.offer", "image.sku", "image.version", "image.resourceID", "image.type"),
		at("image.id", "image.marketplace.publisher", "image.marketplace.offer", "image.marketplace.sku", "image.marketplace.version",
			"image.marketplace.thirdPartyImage"),
		"resourceID is image.id, which begins with the cluster's subscription: Machine API leaves that out. publisher, offer, sku and version are "+
			"image.marketplace; type MarketplaceWithPlan is thirdPartyImage, and an absent type is MarketplaceNoPlan or, with a resourceID, ID; "+
			"with a resourceID it comes back absent, as Machine API's webhook wants it. Required on both sides: "+
			"without it Cluster API takes an image of a community gallery.",
		imageTo, imageFrom),
	of.OnlyCAPI("image.computeGallery.*", byImageID),
	of.OnlyCAPI("image.sharedGallery.*", byImageID),
	of.Iso(at("tags", elsewhere("Infrastructure", "status.platformStatus.azure.resourceTags")),
		at("additionalTags", elsewhere("AzureCluster", "spec.additionalTags")),
		"As they are, if Azure takes them beside those that Cluster API adds. The cluster's mark and the Infrastructure's resourceTags, which Machine "+
			"API adds to each machine, are among them unless the AzureCluster has them too. A tag that only the AzureCluster has must be named here; "+
			"the mirror names it on the way back, but not in a control plane Machine.",
		tagsTo, tagsFrom),
	of.Iso(at("managedIdentity"), at("identity", "userAssignedIdentities[].providerID"),
		"A name is an identity of the machine's resource group; one of another group is named by its resource id. "+
			"Either becomes the one userAssignedIdentity, by its resource id behind azure://. Absent is None. Cluster API's provider compares the id letter by "+
			"letter with that of the virtual machine, and fails a Machine for good where they differ: where Azure spells it otherwise, give the whole id so.",
		identityTo, identityFrom),
	of.OnlyCAPI("systemAssignedIdentityRole.*", noSystemID),
	of.OnlyCAPI("roleAssignmentName", noSystemID),
	of.Iso(at("sshPublicKey"), at("sshPublicKey"),
		"In base64. Absent, both make up a key that nobody has: Machine API for the instance, and the AzureMachine's webhook in the object, from where "+
			"it comes back.",
		sshTo, sshFrom),
	of.Iso(at("ultraSSDCapability"), at("additionalCapabilities.ultraSSDEnabled"),
		"Enabled is true, Disabled is false. Absent, both enable it where a data disk is an UltraSSD.", ultraTo, ultraFrom),
	of.Iso(at("spotVMOptions.maxPrice"), at("spotVMOptions.maxPrice", "spotVMOptions.evictionPolicy"),
		"An empty object means something: a spot machine at up to the price on demand. evictionPolicy is always Delete, which is what Machine API asks "+
			"for since 4.19; absent, the AzureMachine's webhook makes it Deallocate or, with an ephemeral OS disk, Delete.",
		spotTo, spotFrom),
	of.Iso(at("diagnostics.boot.storageAccountType", "diagnostics.boot.customerManaged.storageAccountURI"),
		at("diagnostics.boot.storageAccountType", "diagnostics.boot.userManaged.storageAccountURI"),
		"AzureManaged is Managed, CustomerManaged is UserManaged. Absent differs: Machine API has no boot diagnostics then, so it becomes Disabled; "+
			"Cluster API has Managed ones.",
		diagnosticsTo, diagnosticsFrom),
	of.Iso(at("securityProfile.encryptionAtHost", "securityProfile.settings.securityType",
		"securityProfile.settings.confidentialVM.uefiSettings.secureBoot", "securityProfile.settings.confidentialVM.uefiSettings.virtualizedTrustedPlatformModule",
		"securityProfile.settings.trustedLaunch.uefiSettings.secureBoot", "securityProfile.settings.trustedLaunch.uefiSettings.virtualizedTrustedPlatformModule"),
		at("securityProfile.encryptionAtHost", "securityProfile.securityType", "securityProfile.uefiSettings.secureBootEnabled",
			"securityProfile.uefiSettings.vTpmEnabled"),
		"Enabled is true, Disabled is false. Cluster API makes a new Trusted Launch machine only where secure boot or the vTPM is enabled, and ignores "+
			"encryptionAtHost on a new confidential one, so a template needs the one and not the other; a confidential one needs the vTPM and the OS disk's "+
			"securityEncryptionType.",
		securityTo, securityFrom),
	of.Iso(at(elsewhere("Machine", "spec.providerID")), at("providerID"), "azure:// and the virtual machine's resource id. A template has none.",
		providerIDTo, providerIDFrom),
	of.Iso(nil, at("disableExtensionOperations"), "Always true: Machine API installs no extensions, and OpenShift's images have no agent that could run one.",
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
		"Must be that of the cluster's network; absent is the Infrastructure's resourceGroupName. Case does not matter.", networkGroupTo, networkGroupFrom),
	of.Iso(at("vnet"), at(elsewhere("AzureCluster", "spec.networkSpec.vnet.name")), "Must be the cluster's network. Case does not matter.", vnetTo, vnetFrom),
	of.Iso(at("subnet", "acceleratedNetworking"),
		at("networkInterfaces[].subnetName", "networkInterfaces[].acceleratedNetworking",
			"networkInterfaces[].privateIPConfigs", "subnetName", "acceleratedNetworking"),
		"The one interface, with one address. acceleratedNetworking is always said: absent, Machine API takes false and Cluster API chooses by the size. "+
			"An absent subnetName is the AzureCluster's only subnet for the Machine's role. The fields outside networkInterfaces are its former place.",
		interfaceTo, interfaceFrom),
	of.Iso(nil, at(elsewhere("AzureCluster", "spec.networkSpec.vnet.cidrBlocks"), elsewhere("Infrastructure", "status.platformStatus.azure.ipFamily")),
		"Where the Infrastructure says two address families, the AzureCluster must name an IPv6 network: Cluster API gives new machines an IPv6 address "+
			"then alone. Machine API looks at the subnet. The message has the command.",
		familiesTo, familiesFrom),
	of.Iso(at("publicIP"), at("allocatePublicIP"),
		"Workers only: Cluster API attaches no public address to a control plane Machine. The APIs name the address differently, so that of an instance "+
			"which changes sides is not deleted with it.",
		publicIPTo, publicIPFrom),
	of.Iso(at("publicLoadBalancer"),
		at(elsewhere("AzureCluster", "spec.networkSpec.nodeOutboundLB.name"), elsewhere("AzureCluster", "spec.networkSpec.apiServerLB.name"),
			elsewhere("AzureCluster", "spec.networkSpec.controlPlaneOutboundLB.name")),
		"Must be what Cluster API attaches a machine to. A worker: nodeOutboundLB, but for one with a public address or a NAT gateway on its subnet. "+
			"Where its user routes outbound traffic there must be no nodeOutboundLB, and the message has the command. A control plane Machine: "+
			"controlPlaneOutboundLB or, if apiServerLB is not Internal, that; where the AzureCluster has others, as OpenShift's operator writes it, the "+
			"message has the command.",
		publicBalancerTo, publicBalancerFrom),
	of.Iso(at("internalLoadBalancer"), at(elsewhere("AzureCluster", "spec.networkSpec.apiServerLB.type")),
		"Control plane Machines only: the AzureCluster's apiServerLB, if that is Internal.", internalBalancerTo, internalBalancerFrom),
	of.OnlyMAPI("natRule",
		"Cluster API gives control plane Machines an inbound NAT rule of its own making, and takes no number: "+
			"remove it if nobody logs in through it, else keep the machine with Machine API"),
	of.Iso(at("securityGroup"), at(elsewhere("AzureCluster", "spec.networkSpec.subnets[].securityGroup.name")),
		"Cluster API attaches security groups to subnets. The group of the machine's own subnet may be named, which changes nothing, and does not come "+
			"back; any other cannot go.",
		securityGroupTo, securityGroupFrom),
	of.OnlyMAPI("applicationSecurityGroups",
		"Cluster API has no application security groups: remove them if no rule of a security group names them, else keep the machine with Machine API"),
	of.OnlyCAPI("enableIPForwarding", "Machine API cannot switch IP forwarding on: set it to false, or remove it"),
	of.OnlyCAPI("dnsServers", "Machine API leaves the name servers to the network: remove them"),

	// The OS disk.
	of.Iso(at("osDisk.osType"), at("osDisk.osType"),
		"Linux, and absent is Linux. Windows of a machine that is yet to be created cannot go: Machine API runs its user data at the first logon, "+
			"Cluster API leaves that to an agent in the image. An instance that exists can, but to Machine API under its Machine's name alone.",
		osTypeTo, osTypeFrom),
	of.Iso(at("osDisk.diskSizeGB"), at("osDisk.diskSizeGB"), "Required: Cluster API would take the image's size. 1 to 2048.", osSizeTo, osSizeFrom),
	of.Iso(at("osDisk.cachingType"), at("osDisk.cachingType"), "Absent is None on both sides, and becomes that. An ephemeral disk is ReadOnly.",
		osCachingTo, osCachingFrom),
	of.Iso(at("osDisk.diskSettings.ephemeralStorageLocation"), at("osDisk.diffDiskSettings.option"),
		"Local, or absent. Cluster API takes no diskEncryptionSet beside it.", ephemeralTo, ephemeralFrom),
	of.OnlyCAPI("osDisk.diffDiskSettings.placement", "Machine API leaves the place of an ephemeral disk to Azure: remove it"),
	of.Iso(at("osDisk.managedDisk.storageAccountType", "osDisk.managedDisk.diskEncryptionSet.id",
		"osDisk.managedDisk.securityProfile.securityEncryptionType", "osDisk.managedDisk.securityProfile.diskEncryptionSet.id"),
		at("osDisk.managedDisk.storageAccountType", "osDisk.managedDisk.diskEncryptionSet.id",
			"osDisk.managedDisk.securityProfile.securityEncryptionType", "osDisk.managedDisk.securityProfile.diskEncryptionSet.id"),
		"Absent as a whole, both leave the kind of disk to Azure; else storageAccountType is required, and no UltraSSD. "+
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
		"Always said, because absent differs: it is None in Machine API, and ReadWrite in Cluster API (None for an UltraSSD, which takes no other).",
		cachingTo, cachingFrom),
	disk.Iso(at("managedDisk.storageAccountType", "managedDisk.diskEncryptionSet.id"), at("managedDisk.storageAccountType", "managedDisk.diskEncryptionSet.id"),
		"Standard_LRS, Premium_LRS or UltraSSD_LRS. Always said, because absent differs: it is Premium_LRS in Machine API, and Azure's choice in Cluster API.",
		storageTo, storageFrom),
	disk.OnlyCAPI("managedDisk.securityProfile.*", "Machine API has a security profile for the OS disk only: remove it"),
	disk.Iso(at("deletionPolicy"), nil, "Delete: Cluster API deletes every data disk with its machine. Detach cannot go.", deletionTo, deletionFrom),
}
