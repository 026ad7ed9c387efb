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
	noARN     = "Cluster API accepts no ARN in this field: give the id instead, which is the part of the ARN after the last /, and remove the ARN"
	noFilter  = "Cluster API accepts no filters in this field: give the id instead, and remove the filters"
	noLookup  = "Machine API does not look for images: set ami.id instead"
	noMetaOpt = "Machine API cannot set this instance metadata option."
	noCloud   = "Machine API does not support cloud-init, because its user data is Ignition: remove this field"
)

// Fields converts a providerSpec into the spec of an AWSMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"The conversion writes AWSMachineProviderConfig of machine.openshift.io/v1beta1. It accepts any value except the kind of another platform, because "+
			"Machine API does not read these fields: it uses the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "neither API reads metadata inside a providerSpec: remove it"),

	// The image.
	of.Iso(at("ami.id"), at("ami.id"),
		"The image is required on both sides, because without an image Cluster API would look for one itself.", amiTo, amiFrom),
	of.OnlyMAPI("ami.arn", noARN),
	of.Iso(at("ami.filters[].name", "ami.filters[].values"), nil,
		"Cluster API accepts no filters for an image, so the image must be given by its id. The error message contains the command that finds the id.",
		imagesTo, nothingBack),
	of.OnlyCAPI("ami.eksLookupType", noLookup),
	of.OnlyCAPI("imageLookupFormat", noLookup),
	of.OnlyCAPI("imageLookupOrg", noLookup),
	of.OnlyCAPI("imageLookupBaseOS", noLookup),

	// The instance.
	of.Iso(at("instanceType"), at("instanceType"), "The field is required on both sides.", typeTo, typeFrom),
	of.Words("cpuOptions.confidentialCompute", "cpuOptions.confidentialCompute", "",
		conversion.Word{MachineAPI: "Disabled", ClusterAPI: "Disabled"},
		conversion.Word{MachineAPI: "AMDEncryptedVirtualizationNestedPaging", ClusterAPI: "AMDEncryptedVirtualizationNestedPaging"}),
	of.OnlyCAPI("cpuOptions.nestedVirtualization", "Machine API cannot enable or disable nested virtualization: remove it"),
	of.Iso(at("tags[].name", "tags[].value", "Infrastructure"+conversion.Elsewhere+"status.platformStatus.aws.resourceTags"),
		at("additionalTags", "AWSCluster"+conversion.Elsewhere+"spec.additionalTags"),
		"The list becomes a map, so the tags come back in the order of their names. If a name is given twice, Machine API uses the first tag, and so does "+
			"the conversion. A tag that AWS or Cluster API would refuse is an error. The conversion leaves out the tag Name and the tags "+
			"kubernetes.io/cluster/…, except kubernetes.io/cluster/CLUSTER=owned, because Machine API ignores these tags. Machine API adds the "+
			"Infrastructure's other resourceTags to each instance, so the mirror has these tags too, unless the AWSCluster has them. If only the "+
			"AWSCluster has a tag, the machine must list the tag; in the conversion back the mirror lists it, except in a control plane Machine. A machine "+
			"without an instance must not have a tag, such as MachineName, that Cluster API gives a new instance with another value; such a tag of the "+
			"Infrastructure is left out.",
		tagsTo, tagsFrom),
	of.Iso(at("iamInstanceProfile.id"), at("iamInstanceProfile"), "The value is the profile's name.", profileTo, profileFrom),
	of.OnlyMAPI("iamInstanceProfile.arn", noARN),
	of.OnlyMAPI("iamInstanceProfile.filters.*", noFilter),
	of.Iso(at("keyName"), at("sshKeyName", "AWSCluster"+conversion.Elsewhere+"spec.sshKeyName"),
		"If keyName is absent or empty, Machine API gives an instance no SSH key. If sshKeyName is absent, Cluster API gives an instance the key that the "+
			"AWSCluster names. If the AWSCluster names none and Cluster API's provider manages the AWSCluster, this is the key named default. So an absent "+
			"keyName becomes an empty sshKeyName, and an absent sshKeyName comes back as the name of the AWSCluster's key.",
		instanceKeyTo, instanceKeyFrom),
	of.Iso(at("Machine"+conversion.Elsewhere+"spec.providerID"), at("providerID", "instanceID"),
		"The instance's id is the last part of the provider id. A template has no provider id and no instance id.", providerIDTo, providerIDFrom),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName"),
		"The Secret is required on both sides, because Cluster API creates no Machine without bootstrap data.", userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), at("AWSCluster"+conversion.Elsewhere+"spec.identityRef"),
		"The Secret must be the cluster's own credentials Secret, or absent, which means the same. Cluster API takes its credentials from the AWSCluster, "+
			"whose identityRef must be the AWSClusterControllerIdentity named default, or absent.",
		credentialsTo, credentialsFrom),
	of.Iso(nil, at("ignition.storageType", "ignition.version"),
		"The mirror always has the storageType UnencryptedUserData and the version "+ignitionVersion+", because Machine API always passes the user "+
			"data to the instance unchanged. Another version comes back as "+ignitionVersion+", because with this storageType the provider does not "+
			"read the version.",
		ignitionTo, ignitionFrom),
	of.OnlyCAPI("ignition.proxy.*", "Machine API has no Ignition proxy: remove it"),
	of.OnlyCAPI("ignition.tls.*", "Machine API has no certificate authorities for Ignition: remove it"),
	of.Iso(nil, at("uncompressedUserData"),
		"The field is left out. Only machines with Ignition can be converted back, and neither API compresses user data for Ignition.", nothing, nothingBack),
	of.OnlyCAPI("cloudInit.insecureSkipSecretsManager", noCloud),
	of.OnlyCAPI("cloudInit.secretCount", noCloud),
	of.OnlyCAPI("cloudInit.secretPrefix", noCloud),
	of.OnlyCAPI("cloudInit.secureSecretsBackend", noCloud),

	// The network.
	of.OnlyMAPI("deviceIndex", "Cluster API always attaches a machine's only interface at index 0: set deviceIndex to 0"),
	of.Same("publicIp", "publicIP"), // subnetTo checks that Cluster API can give the public address in the subnet
	of.OnlyCAPI("elasticIpPool.*", "Machine API cannot take a public address from a pool: remove it"),
	of.Words("networkInterfaceType", "networkInterfaceType", "",
		conversion.Word{MachineAPI: "ENA", ClusterAPI: "interface"},
		conversion.Word{MachineAPI: "EFA", ClusterAPI: "efa"}),
	of.OnlyCAPI("networkInterfaces", "Machine API cannot attach existing network interfaces: remove them"),
	of.Iso(at("securityGroups[].id", "securityGroups[].filters[].name", "securityGroups[].filters[].values"),
		at("additionalSecurityGroups[].id", "additionalSecurityGroups[].filters[].name", "additionalSecurityGroups[].filters[].values"),
		"Each security group is given by its id or by filters.", groupsTo, groupsFrom),
	of.OnlyMAPI("securityGroups[].arn", noARN),
	of.OnlyCAPI("securityGroupOverrides", "Machine API does not distinguish security groups by role: give these groups in additionalSecurityGroups instead"),
	of.Iso(at("subnet.id", "subnet.filters[].name", "subnet.filters[].values"),
		at("subnet.id", "subnet.filters[].name", "subnet.filters[].values", "AWSCluster"+conversion.Elsewhere+"spec.network.subnets"),
		"The subnet is given by its id or by filters. It may be absent if the machine has an instance, or if the AWSCluster lists a subnet that Cluster "+
			"API can use. With publicIp, the subnet must be one that the AWSCluster lists as public (`isPublic`). New machines with publicIp cannot be in "+
			"a Wavelength Zone, where Machine API assigns an address of the carrier, and Cluster API cannot.", subnetTo, subnetFrom),
	of.OnlyMAPI("subnet.arn", noARN),
	of.Iso(at("loadBalancers[].name", "loadBalancers[].type"),
		at("AWSCluster"+conversion.Elsewhere+"spec.controlPlaneLoadBalancer", "AWSCluster"+conversion.Elsewhere+"spec.secondaryControlPlaneLoadBalancer"),
		"Only control plane Machines can have load balancers, and must have exactly those of the AWSCluster. Cluster API registers each control plane "+
			"Machine with all of the AWSCluster's load balancers, and registers no other Machine with a load balancer.",
		balancersTo, balancersFrom),

	// Where it runs.
	of.Iso(at("placement.region"), at("AWSCluster"+conversion.Elsewhere+"spec.region"),
		"The region must be the cluster's region, or absent, which means the same.",
		regionTo, regionFrom),
	of.Iso(at("placement.availabilityZone"), at("Machine"+conversion.Elsewhere+"spec.failureDomain"), "", zoneTo, zoneFrom),
	of.Words("placement.tenancy", "tenancy", "",
		conversion.Word{MachineAPI: "default", ClusterAPI: "default"},
		conversion.Word{MachineAPI: "dedicated", ClusterAPI: "dedicated"},
		conversion.Word{MachineAPI: "host", ClusterAPI: "host"}),
	of.Iso(at("placement.host.affinity", "placement.host.dedicatedHost.allocationStrategy", "placement.host.dedicatedHost.id",
		"placement.host.dedicatedHost.dynamicHostAllocation.tags[].name", "placement.host.dedicatedHost.dynamicHostAllocation.tags[].value"),
		at("hostAffinity", "hostID", "dynamicHostAllocation.tags"),
		"The affinity DedicatedHost becomes host, and AnyAvailable becomes default. If placement.host is absent, hostAffinity is default, which is also "+
			"what the API server fills in. An absent allocationStrategy means UserProvided. The id of a host is h- and 17 hexadecimal digits.",
		hostTo, hostFrom),
	of.Same("placementGroupName", "placementGroupName"),
	of.Same("placementGroupPartition", "placementGroupPartition"),

	// How it is paid for.
	of.Iso(at("spotMarketOptions.maxPrice"), at("spotMarketOptions.maxPrice"),
		"An empty object is not the same as an absent one: it requests a spot instance at up to the on-demand price.",
		spotTo, spotFrom),
	of.Words("marketType", "marketType", "",
		conversion.Word{MachineAPI: "OnDemand", ClusterAPI: "OnDemand"},
		conversion.Word{MachineAPI: "Spot", ClusterAPI: "Spot"},
		conversion.Word{MachineAPI: "CapacityBlock", ClusterAPI: "CapacityBlock"}),
	of.Iso(at("capacityReservationId"), at("capacityReservationId"),
		"A spot instance cannot have a capacity reservation, because Cluster API refuses the two together.",
		reservationTo, reservationFrom),
	of.OnlyCAPI("capacityReservationPreference", "Machine API has no field for a preference among capacity reservations: remove it"),

	// The metadata service.
	of.Iso(at("metadataServiceOptions.authentication"), at("instanceMetadataOptions.httpTokens"),
		"Required becomes required, and Optional becomes optional. If the field is absent, instanceMetadataOptions is absent too. In Machine API an absent "+
			"option means the default of the AWS account, and running instances are not changed. Cluster API's webhook fills in optional tokens, one hop, "+
			"no tags and no IPv6, and its controller also sets these values on running instances. So if the account requires a token, set "+
			"Required.", metadataTo, metadataFrom),
	of.OnlyCAPIBeyond("instanceMetadataOptions.httpEndpoint", "enabled", noMetaOpt),
	of.Iso(nil, at("assignPrimaryIPv6", "privateDnsName.enableResourceNameDnsAAAARecord", "privateDnsName.enableResourceNameDnsARecord",
		"privateDnsName.hostnameType",
		"instanceMetadataOptions.httpProtocolIpv6", "AWSCluster"+conversion.Elsewhere+"spec.network.vpc.ipv6"),
		"Machine API has no fields for these settings. If the Infrastructure's ipFamily is DualStackIPv4Primary or DualStackIPv6Primary, Machine API gives "+
			"each machine a primary IPv6 address, a host name of type resource-name, and metadata over IPv6. With such an ipFamily the mirror sets these "+
			"fields (and httpTokens optional if no other value is set), and the AWSCluster needs spec.network.vpc.ipv6. With any other ipFamily only "+
			"httpProtocolIpv6 may be set, and only to disabled.",
		dualStackTo, dualStackFrom),
	of.OnlyCAPIBeyond("instanceMetadataOptions.httpPutResponseHopLimit", "1", noMetaOpt),
	of.OnlyCAPIBeyond("instanceMetadataOptions.instanceMetadataTags", "disabled", noMetaOpt),

	// The disks.
	of.Iso(at("blockDevices"), at("rootVolume", "nonRootVolumes"),
		"The block device without a name becomes the root volume. The other devices become nonRootVolumes, in their order. A second device without a name "+
			"is an error.",
		volumesTo, volumesFrom).With(Volumes.Lines(), "blockDevices[]", "rootVolume", "nonRootVolumes[]"),
}

var disk conversion.Rows[machinev1beta1.BlockDeviceMappingSpec, awsv1.Volume]

// Volumes converts one block device.
var Volumes = conversion.Table[machinev1beta1.BlockDeviceMappingSpec, awsv1.Volume]{
	disk.Same("deviceName", "deviceName"),
	disk.OnlyMAPIEvenEmpty("noDevice",
		"Cluster API cannot suppress a device of the image: use an image without this device, or leave Machine API authoritative"),
	disk.OnlyMAPI("virtualName", "Cluster API has no field for instance store volumes: remove this block device, or leave Machine API authoritative"),
	disk.Iso(at("ebs.deleteOnTermination"), nil,
		"The value must be true, or absent, which means the same, because Cluster API deletes every volume with its instance.",
		deletionTo, deletionFrom),
	disk.Same("ebs.encrypted", "encrypted"),
	disk.Iso(at("ebs.kmsKey.id", "ebs.kmsKey.arn"), at("encryptionKey"),
		"The key is given by its id or its ARN. An empty value means no key.", keyTo, keyFrom),
	disk.OnlyMAPI("ebs.kmsKey.filters.*", noFilter),
	disk.Iso(at("ebs.iops"), at("iops"), "0 means the same as absent.", iopsTo, iopsFrom),
	disk.Iso(at("ebs.throughputMib"), at("throughput"), "0 means the same as absent.", throughputTo, throughputFrom),
	disk.Iso(at("ebs.volumeSize"), at("size"),
		"The size is required, because Cluster API does not take it from the image. It must be at least 8 GiB.", sizeTo, sizeFrom),
	disk.Same("ebs.volumeType", "type"),
}
