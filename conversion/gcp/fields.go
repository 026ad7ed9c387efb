// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

type (
	providerSpec = machinev1beta1.GCPMachineProviderSpec
	infraSpec    = gcpv1.GCPMachineSpec
	pass         = conversion.Pass
)

var of conversion.Rows[providerSpec, infraSpec]

const (
	elsewhere   = conversion.Elsewhere
	noOwnKey    = "Machine API accepts only keys from Google's key management service: use such a key, and remove suppliedKey"
	inMachine   = "Machine" + elsewhere
	inCluster   = "GCPCluster" + elsewhere
	inInstalled = "Infrastructure" + elsewhere
)

// Fields converts a providerSpec into the spec of a GCPMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"The conversion writes GCPMachineProviderSpec of machine.openshift.io/v1beta1. It accepts any value except the kind of another platform, because "+
			"Machine API does not read these fields: it uses the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "neither API reads metadata inside a providerSpec: remove it"),

	// Where it runs.
	of.Iso(at("projectID"), at(inCluster+"spec.project"),
		"The project must be the GCPCluster's project, or absent, which means the same.", projectTo, projectFrom),
	of.Iso(at("region"), at(inCluster+"spec.region"),
		"The region must be the GCPCluster's region, or absent, which means the same.", regionTo, regionFrom),
	of.Iso(at("zone"), at(inMachine+"spec.failureDomain"),
		"The zone is required on both sides, and must be in the cluster's region. The GCPCluster's failure domains are only for the control plane: workers "+
			"may be in any zone of the region.",
		zoneTo, zoneFrom),
	of.Iso(at(inMachine+"spec.providerID"), at("providerID"),
		"The provider id is gce://PROJECT/ZONE/NAME, with the GCPCluster's project and the machine's zone. Both APIs look for the instance by its name in "+
			"this project and zone. If they find none, they create another instance. A template has no provider id.",
		providerIDTo, providerIDFrom),

	// The instance.
	of.Iso(at("machineType"), at("instanceType"), "The field is required on both sides.", machineTypeTo, machineTypeFrom),
	of.Iso(at("gpus[].count", "gpus[].type"), at("guestAccelerators[].count", "guestAccelerators[].type"),
		"In Cluster API the type is projects/PROJECT/zones/ZONE/acceleratorTypes/TYPE, with the machine's own project and zone. Machine API accepts only "+
			"the types nvidia-tesla-k80, -p100, -p4, -t4 and -v100, and only one type on an instance.",
		gpusTo, gpusFrom),
	of.Iso(at("serviceAccounts[].email", "serviceAccounts[].scopes"), at("serviceAccounts.email", "serviceAccounts.scopes"),
		"A machine needs exactly one service account, with at least one scope. It must be set on both sides: if it is absent, Cluster API gives the "+
			"instance the project's default account, but Machine API gives it none.", accountsTo, accountsFrom),
	of.Iso(at("userDataSecret.name"), at(inMachine+"spec.bootstrap.dataSecretName"),
		"The Secret is required on both sides, because Cluster API creates no Machine without bootstrap data. Windows Machines without an instance cannot "+
			"move.",
		userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), nil,
		"The Secret must be the cluster's own credentials Secret, or absent, which means the same. Cluster API takes its credentials from the "+
			"GCPCluster.", credentialsTo, credentialsFrom),
	of.OnlyMAPI("deletionProtection",
		"Cluster API cannot protect an instance from deletion: set deletionProtection to false, or leave Machine API authoritative"),

	// Labels, metadata and tags.
	of.Iso(at("labels", inInstalled+"status.platformStatus.gcp.resourceLabels"), at("additionalLabels", "GCPCluster"+elsewhere+"spec.additionalLabels"),
		"The labels are copied. A GCPMachine also has the labels that Machine API adds to every instance: kubernetes-io-cluster-CLUSTER=owned, and the "+
			"Infrastructure's resourceLabels that the machine does not set itself. Cluster API adds capg-cluster-CLUSTER and capg-role by itself, so other "+
			"values of these resourceLabels are left out. It also "+
			"adds the GCPCluster's additionalLabels to a new instance, so the machine must list these additionalLabels. In the conversion back the mirror "+
			"lists them, except in a control plane Machine.",
		labelsTo, labelsFrom),
	of.Iso(at("gcpMetadata[].key", "gcpMetadata[].value"), at("additionalMetadata[].key", "additionalMetadata[].value"),
		"No key may be listed twice. No key may be user-data, because both APIs pass the machine's user data under this key.", metadataTo, metadataFrom),
	of.Iso(at("resourceManagerTags[].parentID", "resourceManagerTags[].key", "resourceManagerTags[].value", inInstalled+"status.platformStatus.gcp.resourceTags"),
		at("resourceManagerTags[].parentID", "resourceManagerTags[].key", "resourceManagerTags[].value", "GCPCluster"+elsewhere+"spec.resourceManagerTags"),
		"The tags are copied. Machine API also adds the Infrastructure's resourceTags to every instance, unless the machine has a tag with the same key, "+
			"so a GCPMachine must list these resourceTags. The machine must also list the tags that only the GCPCluster has. There are at most 50 tags, "+
			"and no key may be listed twice.",
		resourceTagsTo, resourceTagsFrom),

	// The network.
	of.Iso(at("networkInterfaces[].network"), at(inCluster+"spec.network.name"),
		"A machine has exactly one interface. It must be in the GCPCluster's network, which is the network named default if the GCPCluster names "+
			"none.", networkTo, networkFrom),
	of.Iso(at("networkInterfaces[].projectID"), at(inCluster+"spec.network.hostProject"),
		"The project must be the one of the GCPCluster's network. If it is absent, both APIs use the machine's own project.", hostProjectTo, hostProjectFrom),
	of.Iso(at("networkInterfaces[].subnetwork"), at("subnet"),
		"The subnetwork is given by its name. It is required, because Machine API's webhook refuses an interface without a subnetwork.",
		subnetTo, subnetFrom),
	of.Iso(at("networkInterfaces[].publicIP"), at("publicIP"), "False means the same as absent, and comes back as absent.", publicIPTo, publicIPFrom),
	of.OnlyCAPI("aliasIPRanges.*", "Machine API gives an instance no alias IP ranges: remove them"),
	of.Iso(at("tags"), at("additionalNetworkTags"),
		"The tags are copied. Cluster API also gives its instances the tags CLUSTER and CLUSTER-node or CLUSTER-control-plane. Machine API does not add "+
			"these tags, so list them if firewall rules depend on them. Listing them does no harm in Cluster API, because Google keeps tags as a set.",
		tagsTo, tagsFrom),
	of.Iso(at("canIPForward"), at("ipForwarding"),
		"True becomes Enabled, and false or absent becomes Disabled. In Cluster API an absent value means Enabled, which the API server fills "+
			"in.", forwardingTo, forwardingFrom),
	of.OnlyMAPI("targetPools",
		"Cluster API adds control plane instances to instance groups, never to target pools. If gcloud compute forwarding-rules list prints no rule for "+
			"these pools: remove targetPools. Otherwise leave Machine API authoritative"),
	of.Iso(nil, at(inCluster+"spec.loadBalancer.apiServerInstanceGroupTagOverride"),
		"The tag must be master if there is a control plane Machine. Machine API registers the instance of a control plane Machine with the instance group "+
			"CLUSTER-master-ZONE, and Cluster API with CLUSTER-TAG-ZONE. If the tag is another one, the error message contains the command that changes it.",
		groupTo, groupFrom),

	// How it is scheduled and paid for.
	of.Same("preemptible", "preemptible"),
	of.Iso(at("provisioningModel"), at("provisioningModel"),
		"The only model besides Standard is Spot, which a preemptible instance cannot have. Standard means the same as absent, and comes back as "+
			"absent.", spotTo, spotFrom),
	of.Iso(at("onHostMaintenance"), at("onHostMaintenance"),
		"The policy is Migrate or Terminate. It must be Terminate if the instance has GPUs or is confidential. For an instance with GPUs, Cluster API sets "+
			"Terminate by itself, but Machine API does not.",
		maintenanceTo, maintenanceFrom),
	of.Iso(at("restartPolicy"), nil,
		"On a preemptible or Spot instance the policy must be Never, or absent, which means the same. On any other instance it must be Always, or absent, "+
			"which means the same.", restartTo, nothingBack),

	// How it is protected.
	of.Iso(at("shieldedInstanceConfig.secureBoot", "shieldedInstanceConfig.virtualizedTrustedPlatformModule", "shieldedInstanceConfig.integrityMonitoring"),
		at("shieldedInstanceConfig.secureBoot", "shieldedInstanceConfig.virtualizedTrustedPlatformModule", "shieldedInstanceConfig.integrityMonitoring"),
		"Each field is Enabled, Disabled or absent. An empty shieldedInstanceConfig means the same as an absent one, and comes back as absent. If "+
			"virtualizedTrustedPlatformModule is Disabled, integrityMonitoring must be Disabled too, because an absent value means Enabled.",
		shieldedTo, shieldedFrom),
	of.Iso(at("confidentialCompute"), at("confidentialCompute"),
		"The policy is copied. Any policy except Disabled needs onHostMaintenance Terminate and a machine type of a certain series. The series is n2d, c2d "+
			"or c3d for Enabled and AMDEncryptedVirtualization, n2d for AMDEncryptedVirtualizationNestedPaging, and c3 for IntelTrustedDomainExtensions.",
		confidentialTo, confidentialFrom),

	// The disks.
	of.Iso(at("disks[].boot"), at("additionalDisks"),
		"The disk with boot: true is the boot disk, whose settings are in rootDevice fields in Cluster API. The other disks become additionalDisks, in "+
			"their order.", bootTo, bootFrom),
	onDisks(at("disks[].autoDelete"), nil, "autoDelete must be true, because Cluster API deletes every disk with its instance.", deletionTo, deletionFrom),
	onDisks(at("disks[].image"), at("image"),
		"The image is required for the boot disk. A name without a / means an image of the machine's own project, and becomes "+
			"projects/PROJECT/global/images/NAME. Any other disk must have no image, because Cluster API creates it empty. When a Machine or MachineSet is "+
			"created, Machine API's webhook sets an image for each disk without one: remove the image from every disk except the boot disk.",
		imageTo, imageFrom),
	of.OnlyCAPI("imageFamily",
		"Machine API has one field for an image and an image family: set image to projects/PROJECT/global/images/family/FAMILY, and remove imageFamily"),
	onDisks(at("disks[].sizeGb"), at("rootDeviceSize", "additionalDisks[].size"),
		"An absent size of the boot disk means the image's size. The size is required for any other disk. Machine API's webhook accepts 16 to 65536 "+
			"GB.", sizeTo, sizeFrom),
	onDisks(at("disks[].type"), at("rootDeviceType", "additionalDisks[].deviceType"),
		"The type must be one that Machine API's webhook accepts: pd-standard, pd-ssd, pd-balanced or hyperdisk-balanced. Cluster API requires a type. In "+
			"Machine API an absent type means pd-standard.",
		typeTo, typeFrom),
	of.Iso(at("disks[].labels"), nil,
		"Cluster API gives the boot disk the instance's labels, and gives other disks no labels. So only the boot disk may have labels, and all of them "+
			"must be among the instance's labels. The disk's labels do not come back.",
		diskLabelsTo, nothingBack),
	of.Iso(at("disks[].encryptionKey.kmsKey.name", "disks[].encryptionKey.kmsKey.keyRing", "disks[].encryptionKey.kmsKey.location",
		"disks[].encryptionKey.kmsKey.projectID", "disks[].encryptionKey.kmsKeyServiceAccount"),
		at("rootDiskEncryptionKey.keyType", "rootDiskEncryptionKey.managedKey.kmsKeyName", "rootDiskEncryptionKey.kmsKeyServiceAccount",
			"additionalDisks[].encryptionKey.keyType", "additionalDisks[].encryptionKey.managedKey.kmsKeyName", "additionalDisks[].encryptionKey.kmsKeyServiceAccount"),
		"In Cluster API the key has the type Managed and the name projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/NAME. An absent projectID "+
			"means the machine's own project. Every other disk has the boot disk's key or no key, because Cluster API uses no second key.",
		keysTo, keysFrom),
	of.OnlyCAPI("rootDiskEncryptionKey.suppliedKey.*", noOwnKey),
	of.OnlyCAPI("additionalDisks[].encryptionKey.suppliedKey.*", noOwnKey),
}
