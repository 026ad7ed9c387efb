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
		"Required on both sides, and a zone of the region. The GCPCluster's failure domains are the control plane's: its workers may be in any zone.",
		zoneTo, zoneFrom),
	of.Iso(at(inMachine+"spec.providerID"), at("providerID"),
		"gce://PROJECT/ZONE/NAME, of the GCPCluster's project and the machine's zone: both APIs look for an instance there and by its name, and make "+
			"another one where they find none. A template has none.",
		providerIDTo, providerIDFrom),

	// The instance.
	of.Iso(at("machineType"), at("instanceType"), "Required on both sides.", machineTypeTo, machineTypeFrom),
	of.Iso(at("gpus[].count", "gpus[].type"), at("guestAccelerators[].count", "guestAccelerators[].type"),
		"The type is projects/PROJECT/zones/ZONE/acceleratorTypes/TYPE, of the machine's own project and zone. "+
			"Machine API knows nvidia-tesla-k80, -p100, -p4, -t4 and -v100, and one type on an instance.",
		gpusTo, gpusFrom),
	of.Iso(at("serviceAccounts[].email", "serviceAccounts[].scopes"), at("serviceAccounts.email", "serviceAccounts.scopes"),
		"Exactly one, with a scope, said on both sides: without a word Cluster API gives the project's default account, Machine API none.", accountsTo, accountsFrom),
	of.Iso(at("userDataSecret.name"), at(inMachine+"spec.bootstrap.dataSecretName"),
		"Required on both sides: Cluster API creates no Machine without bootstrap data. Machines that are yet to be created and run Windows cannot go.",
		userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), nil,
		"Must be the cluster's own secret, or absent, which means the same; Cluster API takes its credentials from the GCPCluster.", credentialsTo, credentialsFrom),
	of.OnlyMAPI("deletionProtection", "Cluster API cannot protect an instance from deletion: set it to false, or keep the machine with Machine API"),

	// Labels, metadata and tags.
	of.Iso(at("labels", inInstalled+"status.platformStatus.gcp.resourceLabels"), at("additionalLabels", "GCPCluster"+elsewhere+"spec.additionalLabels"),
		"As they are, and what Machine API adds to every instance is said in both: kubernetes-io-cluster-CLUSTER=owned, and the Infrastructure's "+
			"resourceLabels where the machine has no value of its own. Cluster API adds capg-cluster-CLUSTER and capg-role by itself, and to a new instance "+
			"the GCPCluster's additionalLabels: those must be named here. The mirror names them on the way back, but not in a control plane Machine.",
		labelsTo, labelsFrom),
	of.Iso(at("gcpMetadata[].key", "gcpMetadata[].value"), at("additionalMetadata[].key", "additionalMetadata[].value"),
		"Each key once, and not user-data, which is the machine's user data in both.", metadataTo, metadataFrom),
	of.Iso(at("resourceManagerTags[].parentID", "resourceManagerTags[].key", "resourceManagerTags[].value", inInstalled+"status.platformStatus.gcp.resourceTags"),
		at("resourceManagerTags[].parentID", "resourceManagerTags[].key", "resourceManagerTags[].value", "GCPCluster"+elsewhere+"spec.resourceManagerTags"),
		"As they are, and those of the Infrastructure's resourceTags whose key is not among them, which Machine API adds to every instance: "+
			"a GCPMachine must name them, and what only the GCPCluster has too. Each key once, at most 50.",
		resourceTagsTo, resourceTagsFrom),

	// The network.
	of.Iso(at("networkInterfaces[].network"), at(inCluster+"spec.network.name"),
		"Exactly one interface, in the GCPCluster's network (default, where it has none).", networkTo, networkFrom),
	of.Iso(at("networkInterfaces[].projectID"), at(inCluster+"spec.network.hostProject"),
		"Must be the project of the GCPCluster's network; absent is the machine's own project, on both sides.", hostProjectTo, hostProjectFrom),
	of.Iso(at("networkInterfaces[].subnetwork"), at("subnet"), "By its name; required: Machine API's webhook takes no interface without one.",
		subnetTo, subnetFrom),
	of.Iso(at("networkInterfaces[].publicIP"), at("publicIP"), "False means the same as none, and comes back as none.", publicIPTo, publicIPFrom),
	of.OnlyCAPI("aliasIPRanges.*", "Machine API gives an instance no alias addresses: remove them"),
	of.Iso(at("tags"), at("additionalNetworkTags"),
		"As they are. Cluster API's instances have CLUSTER and CLUSTER-node or CLUSTER-control-plane besides; "+
			"Google keeps tags as a set, so naming these too changes nothing there. Where firewall rules go by them, name them: Machine API adds none.",
		tagsTo, tagsFrom),
	of.Iso(at("canIPForward"), at("ipForwarding"),
		"True is Enabled, false or absent Disabled. Absent in Cluster API is Enabled, which is what the API server fills in.", forwardingTo, forwardingFrom),
	of.OnlyMAPI("targetPools",
		"Cluster API puts control plane instances into instance groups, and no instance into a target pool: remove it if no forwarding rule sends to the "+
			"pool (gcloud compute forwarding-rules list), else keep the machine with Machine API"),
	of.Iso(nil, at(inCluster+"spec.loadBalancer.apiServerInstanceGroupTagOverride"),
		"Must be master for a control plane Machine: Machine API registers it with the instance group CLUSTER-master-ZONE, Cluster API with "+
			"CLUSTER-TAG-ZONE. The message has the command.",
		groupTo, groupFrom),

	// How it is scheduled and paid for.
	of.Same("preemptible", "preemptible"),
	of.Iso(at("provisioningModel"), at("provisioningModel"),
		"Spot, and not on a preemptible instance. Standard means the same as none, and comes back as none.", spotTo, spotFrom),
	of.Iso(at("onHostMaintenance"), at("onHostMaintenance"),
		"Migrate or Terminate. Must be Terminate on an instance with GPUs or a confidential one; Cluster API does that for GPUs unasked, Machine API "+
			"only where it is said.",
		maintenanceTo, maintenanceFrom),
	of.Iso(at("restartPolicy"), nil,
		"Always, or absent, which means the same. On a preemptible or Spot instance: Never, or absent, which means the same.", restartTo, nothingBack),

	// How it is protected.
	of.Iso(at("shieldedInstanceConfig.secureBoot", "shieldedInstanceConfig.virtualizedTrustedPlatformModule", "shieldedInstanceConfig.integrityMonitoring"),
		at("shieldedInstanceConfig.secureBoot", "shieldedInstanceConfig.virtualizedTrustedPlatformModule", "shieldedInstanceConfig.integrityMonitoring"),
		"Enabled, Disabled or absent each; an empty shieldedInstanceConfig means the same as none, and comes back as none. "+
			"Without the module, integrityMonitoring must be Disabled too, as it is Enabled where it is absent.",
		shieldedTo, shieldedFrom),
	of.Iso(at("confidentialCompute"), at("confidentialCompute"),
		"Absent is absent. Any policy but Disabled takes onHostMaintenance Terminate and a machine type of its series: "+
			"n2d, c2d or c3d for Enabled and AMDEncryptedVirtualization, n2d for AMDEncryptedVirtualizationNestedPaging, c3 for IntelTrustedDomainExtensions.",
		confidentialTo, confidentialFrom),

	// The disks.
	of.Iso(at("disks[].boot"), at("additionalDisks"),
		"The one disk that boots is the root disk, the others are additionalDisks, in their order.", bootTo, bootFrom),
	onDisks(at("disks[].autoDelete"), nil, "Must be true: Cluster API deletes every disk with its instance.", deletionTo, deletionFrom),
	onDisks(at("disks[].image"), at("image"),
		"Required for the root disk. A name without a / is an image of the machine's own project, and becomes projects/PROJECT/global/images/NAME. "+
			"Any other disk must have none: Cluster API makes those empty. Machine API's webhook writes one into each disk of a Machine or MachineSet that "+
			"is created without: remove it there.",
		imageTo, imageFrom),
	of.OnlyCAPI("imageFamily", "Machine API has one field for both: set projects/PROJECT/global/images/family/FAMILY in image"),
	onDisks(at("disks[].sizeGb"), at("rootDeviceSize", "additionalDisks[].size"),
		"Absent for the root disk is the image's size. Required for any other. Machine API's webhook takes 16 to 65536.", sizeTo, sizeFrom),
	onDisks(at("disks[].type"), at("rootDeviceType", "additionalDisks[].deviceType"),
		"As they are, and those that Machine API's webhook takes: pd-standard, pd-ssd, pd-balanced and hyperdisk-balanced. Cluster API must say one. "+
			"Absent in Machine API is pd-standard.",
		typeTo, typeFrom),
	of.Iso(at("disks[].labels"), nil,
		"Cluster API labels the root disk as it labels the instance, and no other disk: those of the root disk must be among the instance's, and do not come back.",
		diskLabelsTo, nothingBack),
	of.Iso(at("disks[].encryptionKey.kmsKey.name", "disks[].encryptionKey.kmsKey.keyRing", "disks[].encryptionKey.kmsKey.location",
		"disks[].encryptionKey.kmsKey.projectID", "disks[].encryptionKey.kmsKeyServiceAccount"),
		at("rootDiskEncryptionKey.keyType", "rootDiskEncryptionKey.managedKey.kmsKeyName", "rootDiskEncryptionKey.kmsKeyServiceAccount",
			"additionalDisks[].encryptionKey.keyType", "additionalDisks[].encryptionKey.managedKey.kmsKeyName", "additionalDisks[].encryptionKey.kmsKeyServiceAccount"),
		"A key of type Managed, projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/NAME; an absent projectID is the machine's own project. "+
			"A disk that is not the root disk has the root disk's key or none: Cluster API encrypts with no other.",
		keysTo, keysFrom),
	of.OnlyCAPI("rootDiskEncryptionKey.suppliedKey.*", noOwnKey),
	of.OnlyCAPI("additionalDisks[].encryptionKey.suppliedKey.*", noOwnKey),
}
