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
	noOwnKey    = "Machine API takes keys of Google's key management only: use one, and remove this"
	inMachine   = "Machine" + elsewhere
	inCluster   = "GCPCluster" + elsewhere
	inInstalled = "Infrastructure" + elsewhere
)

// Fields converts a providerSpec into the spec of a GCPMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"Written as GCPMachineProviderSpec of machine.openshift.io/v1beta1. Any value is read, except another platform's kind: "+
			"the Machine API goes by the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "metadata inside a providerSpec means nothing: remove it"),

	// Where it runs.
	of.Iso(at("projectID"), at(inCluster+"spec.project"),
		"Must be the GCPCluster's project, or absent, which means the same.", projectTo, projectFrom),
	of.Iso(at("region"), at(inCluster+"spec.region"),
		"Must be the GCPCluster's region, or absent, which means the same.", regionTo, regionFrom),
	of.Iso(at("zone"), at(inMachine+"spec.failureDomain"),
		"Required on both sides, and a zone of the region. The GCPCluster's failure domains are for the control plane only: workers may be in any zone.",
		zoneTo, zoneFrom),
	of.Iso(at(inMachine+"spec.providerID"), at("providerID"),
		"gce://PROJECT/ZONE/NAME, with the GCPCluster's project and the machine's zone: both APIs look for the instance by its name in this project and "+
			"zone, and create another instance if they find none. A template has no provider id.",
		providerIDTo, providerIDFrom),

	// The instance.
	of.Iso(at("machineType"), at("instanceType"), "Required on both sides.", machineTypeTo, machineTypeFrom),
	of.Iso(at("gpus[].count", "gpus[].type"), at("guestAccelerators[].count", "guestAccelerators[].type"),
		"The type is projects/PROJECT/zones/ZONE/acceleratorTypes/TYPE, of the machine's own project and zone. "+
			"Machine API knows nvidia-tesla-k80, -p100, -p4, -t4 and -v100, and one type on an instance.",
		gpusTo, gpusFrom),
	of.Iso(at("serviceAccounts[].email", "serviceAccounts[].scopes"), at("serviceAccounts.email", "serviceAccounts.scopes"),
		"Exactly one, with a scope, set on both sides: if it is absent, Cluster API gives "+
			"the project's default account, and Machine API none.", accountsTo, accountsFrom),
	of.Iso(at("userDataSecret.name"), at(inMachine+"spec.bootstrap.dataSecretName"),
		"Required on both sides: Cluster API creates no Machine without bootstrap data. Windows Machines without an instance cannot move.",
		userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), nil,
		"Must be the cluster's own secret, or absent, which means the same; Cluster API takes its credentials from the GCPCluster.", credentialsTo, credentialsFrom),
	of.OnlyMAPI("deletionProtection", "Cluster API cannot protect an instance from deletion: set it to false, or keep the machine with Machine API"),

	// Labels, metadata and tags.
	of.Iso(at("labels", inInstalled+"status.platformStatus.gcp.resourceLabels"), at("additionalLabels", "GCPCluster"+elsewhere+"spec.additionalLabels"),
		"Copied. A GCPMachine also has the labels that Machine API adds to every instance: kubernetes-io-cluster-CLUSTER=owned, and the Infrastructure's "+
			"resourceLabels that the machine does not set itself. Cluster API adds capg-cluster-CLUSTER and capg-role by itself, and to a new instance the "+
			"GCPCluster's additionalLabels: the machine must name the additionalLabels. On the way back the mirror names them, except in a control plane "+
			"Machine.",
		labelsTo, labelsFrom),
	of.Iso(at("gcpMetadata[].key", "gcpMetadata[].value"), at("additionalMetadata[].key", "additionalMetadata[].value"),
		"Each key once, and not user-data, which is the machine's user data in both APIs.", metadataTo, metadataFrom),
	of.Iso(at("resourceManagerTags[].parentID", "resourceManagerTags[].key", "resourceManagerTags[].value", inInstalled+"status.platformStatus.gcp.resourceTags"),
		at("resourceManagerTags[].parentID", "resourceManagerTags[].key", "resourceManagerTags[].value", "GCPCluster"+elsewhere+"spec.resourceManagerTags"),
		"Copied. Machine API also adds the Infrastructure's resourceTags to every instance, unless the machine has the key, so a GCPMachine must name them. "+
			"The machine must also name tags that only the GCPCluster has. Each key once, at most 50.",
		resourceTagsTo, resourceTagsFrom),

	// The network.
	of.Iso(at("networkInterfaces[].network"), at(inCluster+"spec.network.name"),
		"Exactly one interface, in the GCPCluster's network (default if the GCPCluster names none).", networkTo, networkFrom),
	of.Iso(at("networkInterfaces[].projectID"), at(inCluster+"spec.network.hostProject"),
		"Must be the project of the GCPCluster's network; absent is the machine's own project, on both sides.", hostProjectTo, hostProjectFrom),
	of.Iso(at("networkInterfaces[].subnetwork"), at("subnet"), "By its name. Required: Machine API's webhook refuses an interface without a subnetwork.",
		subnetTo, subnetFrom),
	of.Iso(at("networkInterfaces[].publicIP"), at("publicIP"), "False means the same as absent, and comes back as absent.", publicIPTo, publicIPFrom),
	of.OnlyCAPI("aliasIPRanges.*", "Machine API gives an instance no alias addresses: remove them"),
	of.Iso(at("tags"), at("additionalNetworkTags"),
		"Copied. Cluster API also gives its instances the tags CLUSTER and CLUSTER-node or CLUSTER-control-plane. If firewall rules depend on these, name "+
			"them, because Machine API adds none; Google keeps tags as a set, so naming them does no harm in Cluster API.",
		tagsTo, tagsFrom),
	of.Iso(at("canIPForward"), at("ipForwarding"),
		"True is Enabled, false or absent Disabled. Absent in Cluster API is Enabled, which is what the API server fills in.", forwardingTo, forwardingFrom),
	of.OnlyMAPI("targetPools",
		"Cluster API puts control plane instances into instance groups, never into target pools: remove it if no forwarding rule sends to the pool (gcloud "+
			"compute forwarding-rules list), else keep the machine with Machine API"),
	of.Iso(nil, at(inCluster+"spec.loadBalancer.apiServerInstanceGroupTagOverride"),
		"Must be master for a control plane Machine: Machine API registers it with the instance group CLUSTER-master-ZONE, Cluster API with "+
			"CLUSTER-TAG-ZONE. The message has the command.",
		groupTo, groupFrom),

	// How it is scheduled and paid for.
	of.Same("preemptible", "preemptible"),
	of.Iso(at("provisioningModel"), at("provisioningModel"),
		"Spot, and not on a preemptible instance. Standard means the same as absent, and comes back as absent.", spotTo, spotFrom),
	of.Iso(at("onHostMaintenance"), at("onHostMaintenance"),
		"Migrate or Terminate. Must be Terminate on an instance with GPUs or a confidential one. For GPUs Cluster API sets Terminate by itself, Machine API "+
			"does not.",
		maintenanceTo, maintenanceFrom),
	of.Iso(at("restartPolicy"), nil,
		"Always, or absent, which means the same. On a preemptible or Spot instance: Never, or absent, which means the same.", restartTo, nothingBack),

	// How it is protected.
	of.Iso(at("shieldedInstanceConfig.secureBoot", "shieldedInstanceConfig.virtualizedTrustedPlatformModule", "shieldedInstanceConfig.integrityMonitoring"),
		at("shieldedInstanceConfig.secureBoot", "shieldedInstanceConfig.virtualizedTrustedPlatformModule", "shieldedInstanceConfig.integrityMonitoring"),
		"Enabled, Disabled or absent each; an empty shieldedInstanceConfig means the same as absent, and comes back as absent. Without the "+
			"virtualizedTrustedPlatformModule, integrityMonitoring must be Disabled too, because absent is Enabled.",
		shieldedTo, shieldedFrom),
	of.Iso(at("confidentialCompute"), at("confidentialCompute"),
		"Copied. Any policy except Disabled needs onHostMaintenance Terminate and a machine type of a certain series: n2d, c2d or c3d for Enabled and "+
			"AMDEncryptedVirtualization, n2d for AMDEncryptedVirtualizationNestedPaging, c3 for IntelTrustedDomainExtensions.",
		confidentialTo, confidentialFrom),

	// The disks.
	of.Iso(at("disks[].boot"), at("additionalDisks"),
		"The disk with boot: true is the root disk. The other disks are additionalDisks, in their order.", bootTo, bootFrom),
	onDisks(at("disks[].autoDelete"), nil, "Must be true: Cluster API deletes every disk with its instance.", deletionTo, deletionFrom),
	onDisks(at("disks[].image"), at("image"),
		"Required for the root disk. A name without a / is an image of the machine's own project, and becomes projects/PROJECT/global/images/NAME. Any "+
			"other disk must have no image: Cluster API creates it empty. When a Machine or MachineSet is created, Machine API's webhook sets an image for "+
			"each disk without one: remove that image.",
		imageTo, imageFrom),
	of.OnlyCAPI("imageFamily", "Machine API has one field for both: set projects/PROJECT/global/images/family/FAMILY in image"),
	onDisks(at("disks[].sizeGb"), at("rootDeviceSize", "additionalDisks[].size"),
		"Absent for the root disk is the image's size. Required for any other. Machine API's webhook takes 16 to 65536.", sizeTo, sizeFrom),
	onDisks(at("disks[].type"), at("rootDeviceType", "additionalDisks[].deviceType"),
		"The types that Machine API's webhook takes: pd-standard, pd-ssd, pd-balanced and hyperdisk-balanced. Cluster API needs a type. Absent in Machine "+
			"API is pd-standard.",
		typeTo, typeFrom),
	of.Iso(at("disks[].labels"), nil,
		"Cluster API gives the root disk the instance's labels, and other disks none. So the root disk's labels must be among the instance's labels, and do "+
			"not come back.",
		diskLabelsTo, nothingBack),
	of.Iso(at("disks[].encryptionKey.kmsKey.name", "disks[].encryptionKey.kmsKey.keyRing", "disks[].encryptionKey.kmsKey.location",
		"disks[].encryptionKey.kmsKey.projectID", "disks[].encryptionKey.kmsKeyServiceAccount"),
		at("rootDiskEncryptionKey.keyType", "rootDiskEncryptionKey.managedKey.kmsKeyName", "rootDiskEncryptionKey.kmsKeyServiceAccount",
			"additionalDisks[].encryptionKey.keyType", "additionalDisks[].encryptionKey.managedKey.kmsKeyName", "additionalDisks[].encryptionKey.kmsKeyServiceAccount"),
		"A key of type Managed, projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/NAME; an absent projectID is the machine's own project. Any "+
			"other disk has the root disk's key or none: Cluster API uses no other key.",
		keysTo, keysFrom),
	of.OnlyCAPI("rootDiskEncryptionKey.suppliedKey.*", noOwnKey),
	of.OnlyCAPI("additionalDisks[].encryptionKey.suppliedKey.*", noOwnKey),
}
