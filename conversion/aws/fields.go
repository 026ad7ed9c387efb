// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

type (
	providerSpec = machinev1beta1.AWSMachineProviderConfig
	infraSpec    = awsv1.AWSMachineSpec
	pass         = conversion.Pass
)

// at is a short name for conversion.At, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

var of conversion.Rows[providerSpec, infraSpec]

// These are reasons that more than one row gives.
const (
	noARN     = "Cluster API takes no ARN here: give the id instead, which is the part after the last / of the ARN"
	noFilter  = "Cluster API takes an id here, no filters: give the id"
	noLookup  = "Machine API does not look images up: set ami.id"
	noMetaOpt = "Machine API cannot set this instance metadata option."
	noCloud   = "Machine API does not support cloud-init: user data is Ignition: remove it"
)

// Fields converts a providerSpec into the spec of an AWSMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"Written as AWSMachineProviderConfig of machine.openshift.io/v1beta1. Any value is read, except another platform's kind: "+
			"the Machine API goes by the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "metadata inside a providerSpec means nothing: remove it"),

	// The image.
	of.Iso(at("ami.id"), at("ami.id"), "Required on both sides: without it Cluster API would look for an image itself.", amiTo, amiFrom),
	of.OnlyMAPI("ami.arn", noARN),
	of.Iso(at("ami.filters[].name", "ami.filters[].values"), nil, "Cluster API takes an id here, no filters: the message has the command that finds the id.",
		imagesTo, nothingBack),
	of.OnlyCAPI("ami.eksLookupType", noLookup),
	of.OnlyCAPI("imageLookupFormat", noLookup),
	of.OnlyCAPI("imageLookupOrg", noLookup),
	of.OnlyCAPI("imageLookupBaseOS", noLookup),

	// The instance.
	of.Iso(at("instanceType"), at("instanceType"), "Required on both sides.", typeTo, typeFrom),
	of.Words("cpuOptions.confidentialCompute", "cpuOptions.confidentialCompute", "",
		conversion.Word{MachineAPI: "Disabled", ClusterAPI: "Disabled"},
		conversion.Word{MachineAPI: "AMDEncryptedVirtualizationNestedPaging", ClusterAPI: "AMDEncryptedVirtualizationNestedPaging"}),
	of.OnlyCAPI("cpuOptions.nestedVirtualization", "Machine API cannot switch nested virtualization: remove it"),
	of.Iso(at("tags[].name", "tags[].value", "Infrastructure"+conversion.Elsewhere+"status.platformStatus.aws.resourceTags"),
		at("additionalTags", "AWSCluster"+conversion.Elsewhere+"spec.additionalTags"),
		"The list becomes a map, so the tags come back in the order of their names. If a name is given twice, the first tag counts, as in Machine API. A "+
			"tag that AWS or Cluster API would refuse is an error. The tag Name and the mark of another cluster are left out, because Machine API ignores "+
			"them. Machine API adds the Infrastructure's resourceTags to each instance, so the mirror has them too, unless the AWSCluster has them. A tag "+
			"that only the AWSCluster has must be named in the machine; on the way back the mirror names it, except in a control plane Machine.",
		tagsTo, tagsFrom),
	of.Iso(at("iamInstanceProfile.id"), at("iamInstanceProfile"), "The profile's name.", profileTo, profileFrom),
	of.OnlyMAPI("iamInstanceProfile.arn", noARN),
	of.OnlyMAPI("iamInstanceProfile.filters.*", noFilter),
	of.Iso(at("keyName"), at("sshKeyName", "AWSCluster"+conversion.Elsewhere+"spec.sshKeyName"),
		"If the name is absent or empty, Machine API gives an instance no key. If it is absent, Cluster API gives the instance the key of the AWSCluster, "+
			"or the key named default if the AWSCluster names none and its own controller manages it. So no key becomes an empty name, and an absent name "+
			"comes back as the name of the AWSCluster's key.",
		instanceKeyTo, instanceKeyFrom),
	of.Iso(at("Machine"+conversion.Elsewhere+"spec.providerID"), at("providerID", "instanceID"),
		"The instance's id is the last part of the provider id. A template has neither.", providerIDTo, providerIDFrom),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName"),
		"Required on both sides: Cluster API creates no Machine without bootstrap data.", userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), at("AWSCluster"+conversion.Elsewhere+"spec.identityRef"),
		"Must be the cluster's own secret, or absent, which means the same; Cluster API takes its credentials from the AWSCluster, whose identity must "+
			"be AWSClusterControllerIdentity default, or absent.",
		credentialsTo, credentialsFrom),
	of.Iso(nil, at("ignition.storageType", "ignition.version"),
		"Always UnencryptedUserData and "+ignitionVersion+": Machine API passes the user data to the instance unchanged, and has no field for anything "+
			"else. Another version comes back as "+ignitionVersion+": with this storageType the provider reads none.",
		ignitionTo, ignitionFrom),
	of.OnlyCAPI("ignition.proxy.*", "Machine API has no Ignition proxy: remove it"),
	of.OnlyCAPI("ignition.tls.*", "Machine API has no certificate authorities for Ignition: remove it"),
	of.Iso(nil, at("uncompressedUserData"),
		"Left out: only machines with Ignition convert back, and with Ignition neither API compresses user data.", nothing, nothingBack),
	of.OnlyCAPI("cloudInit.insecureSkipSecretsManager", noCloud),
	of.OnlyCAPI("cloudInit.secretCount", noCloud),
	of.OnlyCAPI("cloudInit.secretPrefix", noCloud),
	of.OnlyCAPI("cloudInit.secureSecretsBackend", noCloud),

	// The network.
	of.OnlyMAPI("deviceIndex", "Cluster API always attaches the one interface at index 0: set it to 0"),
	of.Same("publicIp", "publicIP"), // subnetTo checks that Cluster API can give the public address in the subnet
	of.OnlyCAPI("elasticIpPool.*", "Machine API cannot take an address from a pool: remove it"),
	of.Words("networkInterfaceType", "networkInterfaceType", "",
		conversion.Word{MachineAPI: "ENA", ClusterAPI: "interface"},
		conversion.Word{MachineAPI: "EFA", ClusterAPI: "efa"}),
	of.OnlyCAPI("networkInterfaces", "Machine API attaches no interfaces that exist already: remove it"),
	of.Iso(at("securityGroups[].id", "securityGroups[].filters[].name", "securityGroups[].filters[].values"),
		at("additionalSecurityGroups[].id", "additionalSecurityGroups[].filters[].name", "additionalSecurityGroups[].filters[].values"),
		"Each by id or by filters.", groupsTo, groupsFrom),
	of.OnlyMAPI("securityGroups[].arn", noARN),
	of.OnlyCAPI("securityGroupOverrides", "Machine API has no security groups by role: list them in additionalSecurityGroups"),
	of.Iso(at("subnet.id", "subnet.filters[].name", "subnet.filters[].values"),
		at("subnet.id", "subnet.filters[].name", "subnet.filters[].values", "AWSCluster"+conversion.Elsewhere+"spec.network.subnets"),
		"By id or by filters. May be absent if there is an instance, or if the AWSCluster lists a subnet that Cluster API takes. With publicIp, a subnet "+
			"that the AWSCluster lists as public (`isPublic`). New machines with publicIp cannot be in a Wavelength Zone, where Machine API gives an "+
			"address of the carrier.", subnetTo, subnetFrom),
	of.OnlyMAPI("subnet.arn", noARN),
	of.Iso(at("loadBalancers[].name", "loadBalancers[].type"),
		at("AWSCluster"+conversion.Elsewhere+"spec.controlPlaneLoadBalancer", "AWSCluster"+conversion.Elsewhere+"spec.secondaryControlPlaneLoadBalancer"),
		"Control plane Machines only, and exactly the load balancers of the AWSCluster: Cluster API registers each control plane Machine with all of them, "+
			"and no other Machine with any load balancer.",
		balancersTo, balancersFrom),

	// Where it runs.
	of.Iso(at("placement.region"), at("AWSCluster"+conversion.Elsewhere+"spec.region"), "Must be the cluster's region, or absent, which means the same.",
		regionTo, regionFrom),
	of.Iso(at("placement.availabilityZone"), at("Machine"+conversion.Elsewhere+"spec.failureDomain"), "", zoneTo, zoneFrom),
	of.Words("placement.tenancy", "tenancy", "",
		conversion.Word{MachineAPI: "default", ClusterAPI: "default"},
		conversion.Word{MachineAPI: "dedicated", ClusterAPI: "dedicated"},
		conversion.Word{MachineAPI: "host", ClusterAPI: "host"}),
	of.Iso(at("placement.host.affinity", "placement.host.dedicatedHost.allocationStrategy", "placement.host.dedicatedHost.id",
		"placement.host.dedicatedHost.dynamicHostAllocation.tags[].name", "placement.host.dedicatedHost.dynamicHostAllocation.tags[].value"),
		at("hostAffinity", "hostID", "dynamicHostAllocation.tags"),
		"Affinity DedicatedHost is host, AnyAvailable is default, and an absent host is default too, which is what the API server fills in. "+
			"An absent allocationStrategy is UserProvided. Host ids have 17 digits.",
		hostTo, hostFrom),
	of.Same("placementGroupName", "placementGroupName"),
	of.Same("placementGroupPartition", "placementGroupPartition"),

	// How it is paid for.
	of.Iso(at("spotMarketOptions.maxPrice"), at("spotMarketOptions.maxPrice"), "An empty object means something: a spot instance at up to the on-demand price.",
		spotTo, spotFrom),
	of.Words("marketType", "marketType", "",
		conversion.Word{MachineAPI: "OnDemand", ClusterAPI: "OnDemand"},
		conversion.Word{MachineAPI: "Spot", ClusterAPI: "Spot"},
		conversion.Word{MachineAPI: "CapacityBlock", ClusterAPI: "CapacityBlock"}),
	of.Iso(at("capacityReservationId"), at("capacityReservationId"), "Not for a spot instance: Cluster API refuses the two together.",
		reservationTo, reservationFrom),
	of.OnlyCAPI("capacityReservationPreference", "Machine API has no preference among capacity reservations: remove it"),

	// The metadata service.
	of.Iso(at("metadataServiceOptions.authentication"), at("instanceMetadataOptions.httpTokens"),
		"Required is required, Optional is optional; absent is an absent instanceMetadataOptions. Machine API leaves absent options to the account, and "+
			"does not change running instances. Cluster API's webhook fills in optional, one hop, no tags and no IPv6, and its controller sets these values "+
			"also on running instances: if the account requires a token, set Required.", metadataTo, metadataFrom),
	of.OnlyCAPIBeyond("instanceMetadataOptions.httpEndpoint", "enabled", noMetaOpt),
	of.Iso(nil, at("assignPrimaryIPv6", "privateDnsName.enableResourceNameDnsAAAARecord", "privateDnsName.enableResourceNameDnsARecord",
		"privateDnsName.hostnameType",
		"instanceMetadataOptions.httpProtocolIpv6", "AWSCluster"+conversion.Elsewhere+"spec.network.vpc.ipv6"),
		"Machine API has no such fields. If the Infrastructure's ipFamily is DualStackIPv4Primary or DualStackIPv6Primary, Machine API gives each machine a "+
			"primary IPv6 address, a host name of type resource-name and metadata over IPv6. With such an ipFamily the mirror sets these fields (with "+
			"httpTokens optional if nothing else is set), and the AWSCluster needs spec.network.vpc.ipv6. With any other ipFamily only httpProtocolIpv6 may "+
			"be set, to disabled.",
		dualStackTo, dualStackFrom),
	of.OnlyCAPIBeyond("instanceMetadataOptions.httpPutResponseHopLimit", "1", noMetaOpt),
	of.OnlyCAPIBeyond("instanceMetadataOptions.instanceMetadataTags", "disabled", noMetaOpt),

	// The disks.
	of.Iso(at("blockDevices"), at("rootVolume", "nonRootVolumes"),
		"The block device without a name is the root volume. The other devices are nonRootVolumes, in their order. A second device without a name is an error.",
		volumesTo, volumesFrom).With(Volumes.Lines(), "blockDevices[]", "rootVolume", "nonRootVolumes[]"),
}

var disk conversion.Rows[machinev1beta1.BlockDeviceMappingSpec, awsv1.Volume]

// Volumes converts one block device.
var Volumes = conversion.Table[machinev1beta1.BlockDeviceMappingSpec, awsv1.Volume]{
	disk.Same("deviceName", "deviceName"),
	disk.OnlyMAPIEvenEmpty("noDevice", "Cluster API cannot suppress a device of the image: use an image without it, or keep the machine with Machine API"),
	disk.OnlyMAPI("virtualName", "Cluster API has no instance store volumes: remove the entry, or keep the machine with Machine API"),
	disk.Iso(at("ebs.deleteOnTermination"), nil, "True, or absent, which means the same: Cluster API deletes every volume with its instance.",
		deletionTo, deletionFrom),
	disk.Same("ebs.encrypted", "encrypted"),
	disk.Iso(at("ebs.kmsKey.id", "ebs.kmsKey.arn"), at("encryptionKey"), "An id or an ARN. An empty one is none.", keyTo, keyFrom),
	disk.OnlyMAPI("ebs.kmsKey.filters.*", noFilter),
	disk.Iso(at("ebs.iops"), at("iops"), "0 is none.", iopsTo, iopsFrom),
	disk.Iso(at("ebs.throughputMib"), at("throughput"), "0 is none.", throughputTo, throughputFrom),
	disk.Iso(at("ebs.volumeSize"), at("size"), "Required, and at least 8: Cluster API does not take the size from the image.", sizeTo, sizeFrom),
	disk.Same("ebs.volumeType", "type"),
}
