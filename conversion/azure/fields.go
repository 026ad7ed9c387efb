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
	byImageID = "Machine API names an image only by its resource id: set image.id instead. For an image of a gallery the id is " +
		"/subscriptions/…/galleries/GALLERY/images/NAME/versions/VERSION"
	noSystemID = "Machine API creates no identity for a machine: set identity to UserAssigned, name an existing identity in userAssignedIdentities, and " +
		"remove systemAssignedIdentityRole"
)

// Fields converts a providerSpec into the spec of an AzureMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"The conversion writes AzureMachineProviderSpec of machine.openshift.io/v1beta1. It accepts any value except the kind of another platform, because "+
			"Machine API does not read these fields: it uses the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "neither API reads metadata inside a providerSpec: remove it"),

	// Where it runs.
	of.Iso(at("location", elsewhere("Infrastructure", "status.platformStatus.azure.cloudName")),
		at(elsewhere("AzureCluster", "spec.location"), elsewhere("AzureCluster", "spec.azureEnvironment"), elsewhere("AzureCluster", "spec.subscriptionID"),
			elsewhere("AzureCluster", "spec.extendedLocation")),
		"The location must be the cluster's region, or absent, which means the same. Spaces and case do not matter: West US is westus. The AzureCluster "+
			"must name the cloud and the subscription that Machine API uses; if it does not, the error message contains the command that sets them. The "+
			"AzureCluster must have no extended location.",
		locationTo, locationFrom),
	of.Iso(at("resourceGroup"), at(elsewhere("AzureCluster", "spec.resourceGroup")),
		"The resource group must be the cluster's. If it is absent, the Infrastructure's resource group is meant. Case does not matter.", groupTo, groupFrom),
	of.Iso(at("zone"), at(elsewhere("Machine", "spec.failureDomain"), "failureDomain", elsewhere("AzureCluster", "status.failureDomains")),
		"The zone becomes the Machine's failureDomain. The AzureMachine's own failureDomain comes back as the zone if the Machine's failureDomain is "+
			"absent or the same. A MachineSet needs a zone, unless its machines are spot machines or the AzureCluster's status lists the region's zones. "+
			"Without a zone, each API would put new machines into an availability set of another name; Cluster API would do this even in a region with "+
			"zones. The error message contains the command that lists the zones.",
		zoneTo, zoneFrom),
	of.OnlyMAPI("availabilitySet",
		"Cluster API uses availability sets only in regions without zones, and chooses their names itself. In a Machine that has an instance: remove "+
			"availabilitySet; the instance stays in its availability set. If a MachineSet needs the availability set, leave Machine API authoritative for "+
			"the MachineSet"),
	of.Iso(at("capacityReservationGroupID"), at("capacityReservationGroupID"), "The value is a resource id on both sides.", reservationTo, reservationFrom),

	// The instance.
	of.Iso(at("vmSize"), at("vmSize"),
		"The size is required on both sides. Azure accepts a size in upper or lower case, but Cluster API's provider accepts it only in the spelling in "+
			"which Azure lists it. So Standard_D4s_V3 becomes Standard_D4s_v3.",
		sizeTo, sizeFrom),
	of.Iso(at("image.publisher", "image.offer", "image.sku", "image.version", "image.resourceID", "image.type"),
		at("image.id", "image.marketplace.publisher", "image.marketplace.offer", "image.marketplace.sku", "image.marketplace.version",
			"image.marketplace.thirdPartyImage"),
		"An image is required on both sides, because without one Cluster API uses an image of a community gallery. resourceID becomes image.id; Machine "+
			"API's id does not have the cluster's subscription, with which Cluster API's id begins. publisher, offer, sku and version become "+
			"image.marketplace. The type MarketplaceWithPlan becomes thirdPartyImage. An absent type means ID if there is a resourceID, otherwise "+
			"MarketplaceNoPlan. With a resourceID the type comes back absent, because Machine API's webhook requires that.",
		imageTo, imageFrom),
	of.OnlyCAPI("image.computeGallery.*", byImageID),
	of.OnlyCAPI("image.sharedGallery.*", byImageID),
	of.Iso(at("tags", elsewhere("Infrastructure", "status.platformStatus.azure.resourceTags")),
		at("additionalTags", elsewhere("AzureCluster", "spec.additionalTags")),
		"The tags are copied, if Azure accepts them together with the tags that Cluster API adds. Machine API adds the tag that marks the cluster's "+
			"resources (always with the value owned) and the Infrastructure's resourceTags to each machine, so the mirror has these tags too, unless the "+
			"AzureCluster has them. If only the AzureCluster has a tag, the machine must list the tag; in the conversion back the mirror lists it, except "+
			"in a control plane Machine. A machine without an instance must have no tag Name, in any case, because Cluster API gives the instance this "+
			"tag with another value; such a tag of the Infrastructure is left out.",
		tagsTo, tagsFrom),
	of.Iso(at("managedIdentity"), at("identity", "userAssignedIdentities[].providerID"),
		"managedIdentity is the name of an identity in the machine's resource group, or the resource id of an identity in another group. Either becomes "+
			"the only entry of userAssignedIdentities: azure:// and the resource id. An absent managedIdentity becomes identity None. Cluster API's "+
			"provider compares the id, including case, with the id that Azure reports for the virtual machine. If they differ, the provider marks the "+
			"Machine as failed for good, so give the whole id in Azure's spelling.",
		identityTo, identityFrom),
	of.OnlyCAPI("systemAssignedIdentityRole.*", noSystemID),
	of.OnlyCAPI("roleAssignmentName", noSystemID),
	of.Iso(at("sshPublicKey"), at("sshPublicKey"),
		"The key is in base64. If the key is absent, both APIs generate a key pair whose private key nobody has. Machine API sets the public key only on "+
			"the instance. The AzureMachine's webhook writes the public key into the object, from which it is converted back.",
		sshTo, sshFrom),
	of.Iso(at("ultraSSDCapability"), at("additionalCapabilities.ultraSSDEnabled"),
		"Enabled becomes true, Disabled becomes false. If the field is absent, both APIs enable UltraSSDs if a data disk is an "+
			"UltraSSD.", ultraTo, ultraFrom),
	of.Iso(at("spotVMOptions.maxPrice"), at("spotVMOptions.maxPrice", "spotVMOptions.evictionPolicy"),
		"An empty object is not the same as an absent one: it requests a spot machine at up to the price on demand. The mirror's evictionPolicy is always "+
			"Delete, which Machine API requests since 4.19. If evictionPolicy is absent, the AzureMachine's webhook sets Deallocate or, with an ephemeral "+
			"OS disk, Delete.",
		spotTo, spotFrom),
	of.Iso(at("diagnostics.boot.storageAccountType", "diagnostics.boot.customerManaged.storageAccountURI"),
		at("diagnostics.boot.storageAccountType", "diagnostics.boot.userManaged.storageAccountURI"),
		"AzureManaged becomes Managed, CustomerManaged becomes UserManaged. An absent value becomes Disabled, because it means no boot diagnostics in "+
			"Machine API, but Managed in Cluster API.",
		diagnosticsTo, diagnosticsFrom),
	of.Iso(at("securityProfile.encryptionAtHost", "securityProfile.settings.securityType",
		"securityProfile.settings.confidentialVM.uefiSettings.secureBoot", "securityProfile.settings.confidentialVM.uefiSettings.virtualizedTrustedPlatformModule",
		"securityProfile.settings.trustedLaunch.uefiSettings.secureBoot", "securityProfile.settings.trustedLaunch.uefiSettings.virtualizedTrustedPlatformModule"),
		at("securityProfile.encryptionAtHost", "securityProfile.securityType", "securityProfile.uefiSettings.secureBootEnabled",
			"securityProfile.uefiSettings.vTpmEnabled"),
		"Enabled becomes true, Disabled becomes false. Cluster API creates a new Trusted Launch machine only with secure boot or the vTPM, so a template "+
			"needs one of these two enabled. Cluster API ignores encryptionAtHost on a new confidential machine, so a confidential template must not set "+
			"encryptionAtHost. A confidential machine needs the vTPM and the OS disk's securityEncryptionType.",
		securityTo, securityFrom),
	of.Iso(at(elsewhere("Machine", "spec.providerID")), at("providerID"),
		"The provider id is azure:// and the virtual machine's resource id. A template has no provider id.",
		providerIDTo, providerIDFrom),
	of.Iso(nil, at("disableExtensionOperations"),
		"The mirror always has true, because Machine API installs no extensions, and OpenShift's images have no agent that could run one.",
		extensionsTo, extensionsFrom),
	of.OnlyCAPIBeyond("disableVMBootstrapExtension", "true", "Machine API installs no bootstrap extension."),
	of.OnlyCAPI("vmExtensions.*", "Machine API installs no virtual machine extensions: remove them"),

	// User data and credentials.
	of.Iso(at("userDataSecret.name", "userDataSecret.namespace"), at(elsewhere("Machine", "spec.bootstrap.dataSecretName")),
		"The Secret is required on both sides, because Cluster API creates no Machine without bootstrap data. Its namespace must be Machine API's, or "+
			"absent, which means the same.",
		userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name", "credentialsSecret.namespace"), nil,
		"The Secret must be the cluster's own credentials Secret in Machine API's namespace, or absent, which means the same. Cluster API takes its "+
			"credentials from the AzureCluster.",
		credentialsTo, credentialsFrom),

	// The network.
	of.Iso(at("networkResourceGroup"), at(elsewhere("AzureCluster", "spec.networkSpec.vnet.resourceGroup")),
		"The resource group must be the one of the cluster's network. If it is absent, the Infrastructure's resourceGroupName is meant. Case does not "+
			"matter.", networkGroupTo, networkGroupFrom),
	of.Iso(at("vnet"), at(elsewhere("AzureCluster", "spec.networkSpec.vnet.name")),
		"The virtual network must be the cluster's. Case does not matter.", vnetTo, vnetFrom),
	of.Iso(at("subnet", "acceleratedNetworking"),
		at("networkInterfaces[].subnetName", "networkInterfaces[].acceleratedNetworking",
			"networkInterfaces[].privateIPConfigs", "subnetName", "acceleratedNetworking"),
		"A machine has exactly one interface, with one address. The mirror always sets acceleratedNetworking, because an absent value means false in "+
			"Machine API, while Cluster API chooses by the machine's size. An absent subnetName means the AzureCluster's only subnet for the Machine's "+
			"role. The fields outside networkInterfaces are older names of the same settings.",
		interfaceTo, interfaceFrom),
	of.Iso(nil, at(elsewhere("AzureCluster", "spec.networkSpec.vnet.cidrBlocks"), elsewhere("Infrastructure", "status.platformStatus.azure.ipFamily")),
		"If the Infrastructure has two address families, the AzureCluster must list an IPv6 range of the network, because only then does Cluster API give "+
			"new machines an IPv6 address. Machine API reads the families from the subnet. The error message contains the command that adds the range.",
		familiesTo, familiesFrom),
	of.Iso(at("publicIP"), at("allocatePublicIP"),
		"Only workers can have a public address, because Cluster API attaches none to a control plane Machine. The APIs give the address different names, "+
			"so if the instance of a Machine that has moved is deleted, its public address remains.",
		publicIPTo, publicIPFrom),
	of.Iso(at("publicLoadBalancer"),
		at(elsewhere("AzureCluster", "spec.networkSpec.nodeOutboundLB.name"), elsewhere("AzureCluster", "spec.networkSpec.apiServerLB.name"),
			elsewhere("AzureCluster", "spec.networkSpec.controlPlaneOutboundLB.name")),
		"publicLoadBalancer must be the load balancer to which Cluster API attaches the machine. Cluster API attaches a worker to nodeOutboundLB, unless "+
			"the worker has a public address or its subnet has a NAT gateway. If outbound traffic uses routes of the user's own, the AzureCluster must "+
			"have no nodeOutboundLB. Cluster API attaches a control plane Machine to controlPlaneOutboundLB or, if apiServerLB is not Internal, to "+
			"apiServerLB. OpenShift's operator writes other load balancers into the AzureCluster. If the AzureCluster must change, the error message "+
			"contains the command.",
		publicBalancerTo, publicBalancerFrom),
	of.Iso(at("internalLoadBalancer"), at(elsewhere("AzureCluster", "spec.networkSpec.apiServerLB.type")),
		"Only control plane Machines can have an internalLoadBalancer, and it must be the AzureCluster's apiServerLB, which must be "+
			"Internal.", internalBalancerTo, internalBalancerFrom),
	of.OnlyMAPI("natRule",
		"Cluster API has no field for an inbound NAT rule, and creates a rule of its own for control plane Machines. If nobody logs in through natRule: "+
			"remove natRule. Otherwise leave Machine API authoritative"),
	of.Iso(at("securityGroup"), at(elsewhere("AzureCluster", "spec.networkSpec.subnets[].securityGroup.name")),
		"securityGroup may only be the security group of the machine's own subnet, because Cluster API attaches security groups only to subnets. The field "+
			"then has no effect, and does not come back.",
		securityGroupTo, securityGroupFrom),
	of.OnlyMAPI("applicationSecurityGroups",
		"Cluster API has no application security groups. If no rule of a security group names these groups: remove applicationSecurityGroups. Otherwise "+
			"leave Machine API authoritative"),
	of.OnlyCAPI("enableIPForwarding", "Machine API cannot enable IP forwarding: set this field to false, or remove it"),
	of.OnlyCAPI("dnsServers", "Machine API cannot set a machine's DNS servers: remove them, so that the machine uses those of the virtual network"),

	// The OS disk.
	of.Iso(at("osDisk.osType"), at("osDisk.osType"),
		"An absent osType means Linux. A Windows machine without an instance cannot move: Machine API runs the user data at the first logon, but Cluster "+
			"API expects an agent in the image that runs the user data. A Windows machine with an instance can move to Cluster API. It can move to Machine "+
			"API only if the instance has the Machine's name.",
		osTypeTo, osTypeFrom),
	of.Iso(at("osDisk.diskSizeGB"), at("osDisk.diskSizeGB"),
		"The size is required in Machine API, and Cluster API would use the image's size if it is absent. It must be 1 to 2048 GB.", osSizeTo, osSizeFrom),
	of.Iso(at("osDisk.cachingType"), at("osDisk.cachingType"),
		"An absent cachingType means None on both sides, and becomes None. It must be ReadOnly for an ephemeral disk.",
		osCachingTo, osCachingFrom),
	of.Iso(at("osDisk.diskSettings.ephemeralStorageLocation"), at("osDisk.diffDiskSettings.option"),
		"The value is Local or absent. With Local, Cluster API accepts no diskEncryptionSet.", ephemeralTo, ephemeralFrom),
	of.OnlyCAPI("osDisk.diffDiskSettings.placement", "Machine API cannot choose where Azure places an ephemeral disk: remove this field"),
	of.Iso(at("osDisk.managedDisk.storageAccountType", "osDisk.managedDisk.diskEncryptionSet.id",
		"osDisk.managedDisk.securityProfile.securityEncryptionType", "osDisk.managedDisk.securityProfile.diskEncryptionSet.id"),
		at("osDisk.managedDisk.storageAccountType", "osDisk.managedDisk.diskEncryptionSet.id",
			"osDisk.managedDisk.securityProfile.securityEncryptionType", "osDisk.managedDisk.securityProfile.diskEncryptionSet.id"),
		"If managedDisk is absent, both APIs let Azure choose the type of the disk. Otherwise storageAccountType is required, and cannot be UltraSSD. "+
			"securityProfile.diskEncryptionSet needs securityEncryptionType DiskWithVMGuestState.",
		managedTo, managedFrom),

	// The data disks.
	of.Iso(at("dataDisks"), at("dataDisks"),
		"The data disks keep their order. No two data disks may have the same name or the same lun.", disksTo, disksFrom).
		With(Disks.Lines(), "dataDisks[]", "dataDisks[]"),
}

var disk conversion.Rows[dataDisk, infraDisk]

// Disks converts one data disk.
var Disks = conversion.Table[dataDisk, infraDisk]{
	disk.Iso(at("nameSuffix"), at("nameSuffix"),
		"The name has at most 78 characters: letters, digits, _, . and -. The first and the last are a letter or digit.", suffixTo, suffixFrom),
	disk.Iso(at("diskSizeGB"), at("diskSizeGB"), "The size is 4 to 32767 GB.", diskSizeTo, diskSizeFrom),
	disk.Iso(at("lun"), at("lun"), "The lun is 0 to 63. In Cluster API an absent lun means the lowest free one.", lunTo, lunFrom),
	disk.Iso(at("cachingType"), at("cachingType"),
		"The mirror always sets cachingType, because an absent value means None in Machine API, but ReadWrite in Cluster API. An UltraSSD allows only "+
			"None, which is its default in both APIs.",
		cachingTo, cachingFrom),
	disk.Iso(at("managedDisk.storageAccountType", "managedDisk.diskEncryptionSet.id"), at("managedDisk.storageAccountType", "managedDisk.diskEncryptionSet.id"),
		"The type is Standard_LRS, Premium_LRS or UltraSSD_LRS. The mirror always sets the type, because an absent type means Premium_LRS in Machine API, "+
			"but in Cluster API Azure chooses one.",
		storageTo, storageFrom),
	disk.OnlyCAPI("managedDisk.securityProfile.*", "Machine API has a security profile only for the OS disk, not for data disks: remove it"),
	disk.Iso(at("deletionPolicy"), nil,
		"The deletionPolicy must be Delete, because Cluster API deletes every data disk with its machine.", deletionTo, deletionFrom),
}
