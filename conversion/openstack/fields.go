// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/unread"
)

type (
	providerSpec = machinev1alpha1.OpenstackProviderSpec
	infraSpec    = openstackv1.OpenStackMachineSpec
	pass         = conversion.Pass
)

// at is a short name for conversion.At, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

// These are the beginnings of paths into other objects than the table's two types.
const (
	ofMachine = "Machine" + conversion.Elsewhere
	ofCluster = "OpenStackCluster" + conversion.Elsewhere
)

var of conversion.Rows[providerSpec, infraSpec]

// These are reasons that more than one row gives.
const (
	noPortOpt  = "Machine API cannot set this option of a port: remove it"
	noSchedule = "Machine API passes only the server group and the availability zone to OpenStack's scheduler, and no other hints: remove the hints"
)

// Fields converts a providerSpec into the spec of an OpenStackMachine and back.
var Fields = append(conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"The conversion writes OpenstackProviderSpec of machine.openshift.io/v1alpha1. It accepts any value except the kind of another platform, because "+
			"Machine API does not read these fields: it uses the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "neither API reads metadata inside a providerSpec: remove it"),

	// The cloud.
	of.Iso(at("cloudsSecret.name", "cloudsSecret.namespace", "cloudName"), at("identityRef.type", "identityRef.name", "identityRef.cloudName",
		ofCluster+"spec.identityRef"),
		"If the Secret and the cloud are those of the OpenStackCluster, identityRef stays absent, because Cluster API uses them by default. Any other "+
			"Secret becomes an identityRef of type Secret; a Secret of the same name must also exist in Cluster API's namespace. cloudsSecret must be in "+
			"Machine API's namespace.",
		cloudTo, cloudFrom),
	of.OnlyCAPI("identityRef.region", "Machine API takes the region only from clouds.yaml: remove region, and set region_name in clouds.yaml"),

	// The server.
	of.Iso(at("flavor"), at("flavor"), "The flavor is given by its name. It is required.", flavorTo, flavorFrom),
	of.OnlyCAPI("flavorID", "Machine API finds a flavor only by its name: set flavor, and remove flavorID"),
	of.Iso(at("image", "rootVolume.sourceUUID"), at("image.id", "image.filter.name"),
		"The name of an image becomes a filter by name, which must match exactly one image. If sourceUUID is a UUID, it becomes the id. Any other "+
			"sourceUUID is read as a name, because the installer writes a name into this field. If both image and sourceUUID are given, sourceUUID is "+
			"used. Without a root volume, Machine API has no field for the id of an image.",
		imageTo, imageFrom),
	of.OnlyCAPI("image.filter.tags", "Machine API finds an image only by its name: set image.filter.name, and remove the other filters"),
	of.OnlyCAPI("image.imageRef.*", "Machine API has no Image objects: set image.filter.name, and remove imageRef"),
	of.Same("keyName", "sshKeyName"),
	of.Same("configDrive", "configDrive"),
	of.Iso(at("tags"), at("tags", ofCluster+"spec.tags"),
		"The tags are copied. The machine must also list the OpenStackCluster's tags: Cluster API gives these tags to each server and port by default, but "+
			"Machine API only if the providerSpec lists them. A tag that is listed twice is an error. A template also gets the tags that Machine API gives "+
			"each server by itself: cluster-api-provider-openstack and openshift-machine-api-CLUSTER.",
		tagsTo, tagsFrom),
	of.Iso(at("serverMetadata"), at("serverMetadata[].key", "serverMetadata[].value"),
		"The map becomes a list in the order of the keys. Keys and values have at most 255 characters. A key given twice is an error.", metadataTo, metadataFrom),
	of.Iso(at("serverGroupID", "serverGroupName"), at("serverGroup.id", "serverGroup.filter.name"),
		"The server group is given by its id or, without an id, by its name. If no group has this name, Machine API creates one. Cluster API needs an "+
			"existing group.", serverGroupTo, serverGroupFrom),
	of.OnlyCAPI("schedulerHintAdditionalProperties.*", noSchedule),
	of.Iso(at(ofMachine+"spec.providerID"), at("providerID"), "A template has no provider id.", providerIDTo, providerIDFrom),
	of.Iso(at("userDataSecret.name", "userDataSecret.namespace"), at(ofMachine+"spec.bootstrap.dataSecretName"),
		"The Secret is required on both sides, because Cluster API creates no Machine without bootstrap data. Each API looks for the Secret in its own "+
			"namespace.", userDataTo, userDataFrom),
	of.Iso(at("availabilityZone"), at(ofMachine+"spec.failureDomain"), "", zoneTo, zoneFrom),

	// The interfaces, the floating IPs, and the API server's load balancer.
	of.Iso(at("networks", "ports", "securityGroups"), at("ports", "securityGroups",
		ofCluster+"spec.network", ofCluster+"spec.subnets", ofCluster+"spec.managedSecurityGroups", "Infrastructure"+conversion.Elsewhere+
			"status.platformStatus.openstack"),
		"The networks, followed by the ports, become one list of ports. In the conversion back, the first ports become entries of networks. From the first "+
			"port that cannot be an entry of networks, all ports become entries of ports. If a machine has one interface, in the OpenStackCluster's "+
			"subnets and without other settings, the list of ports in Cluster API is absent. A providerSpec with neither networks nor ports is an error. "+
			"If a port has security groups of its own, Machine API uses them instead of the machine's, and a port without port security has no groups. "+
			"Cluster API adds the machine's groups to every port. If the two APIs would give a port different groups, the mirror sets the groups on each "+
			"port, and none on the machine.",
		interfacesTo, interfacesFrom).
		With(Interfaces.Lines(), "", "ports[]").
		With(SecurityGroups.Lines(), "securityGroups[]", "securityGroups[]", "ports[].securityGroups[]"),
	of.Same("trunk", "trunk"),
	of.OnlyMAPI("floatingIP",
		"Cluster API cannot attach a certain floating IP address: associate the address with the server's port yourself, and remove this field"),
	of.OnlyCAPI("floatingIPPoolRef.*", "Machine API takes no floating IPs from a pool: remove this field"),
	of.OnlyCAPI("ports[].hostID", noPortOpt),
	of.OnlyCAPI("ports[].propagateUplinkStatus", noPortOpt),
	of.OnlyCAPI("ports[].valueSpecs.*", noPortOpt),
	of.Iso(nil, at(ofCluster+"spec.apiServerLoadBalancer", ofCluster+"spec.disableAPIServerFloatingIP"),
		"If there is a control plane Machine, the OpenStackCluster must have neither a load balancer nor a floating IP for the API server, because Machine "+
			"API gives its control plane Machines neither of the two.",
		endpointTo, endpointFrom),

	// The disks.
	of.Iso(at("rootVolume.diskSize"), at("rootVolume.sizeGiB"),
		"The size is required if there is a root volume. It must be at least 1 GiB.", rootSizeTo, rootSizeFrom),
	of.Same("rootVolume.volumeType", "rootVolume.type"),
	of.Iso(at("rootVolume.availabilityZone"), at("rootVolume.availabilityZone.from", "rootVolume.availabilityZone.name"),
		"The zone becomes an availabilityZone whose field from is Name. If the zone is absent, Cinder chooses one. If from is Machine, the zone comes back "+
			"as the name of the Machine's failure domain. The name of a zone must have no spaces.", rootZoneTo, rootZoneFrom),
	of.Iso(at("additionalBlockDevices"), at("additionalBlockDevices"),
		"The block devices keep their order. Each needs a name of its own, which is not root.", devicesTo, devicesFrom).
		With(BlockDevices.Lines(), "additionalBlockDevices[]", "additionalBlockDevices[]"),

	// Machine API has these fields only for old manifests, and does not read them.
}, of.Unread(unread.Members("OpenStack"))...)

var face conversion.Rows[nic, port]

// Interfaces converts one interface, from either of Machine API's two lists.
var Interfaces = conversion.Table[nic, port]{
	face.Iso(at("networks[].uuid", "networks[].filter.id", "networks[].subnets[].uuid", "networks[].subnets[].filter.id", "ports[].networkID",
		"ports[].fixedIPs[].subnetID", "ports[].fixedIPs[].ipAddress"),
		at("network.id", "fixedIPs[].subnet.id", "fixedIPs[].ipAddress"),
		"A network or subnet is given by its id, which is a UUID, or, without an id, by a filter. An entry of ports can only have ids. A network with "+
			"several subnets becomes one port with an address in each subnet. If an entry of networks has subnets but no network, each subnet becomes a "+
			"port, as in Machine API. Such subnets must be those of the OpenStackCluster, or be in the OpenStackCluster's network, which the mirror then "+
			"names. The reason is that Cluster API puts a port without a network into the OpenStackCluster's subnets, and ignores the port's fixedIPs.",
		placeTo, placeFrom).
		With(NetworkFilters.Lines(), "networks[].filter", "network.filter").
		With(SubnetFilters.Lines(), "networks[].subnets[].filter", "fixedIPs[].subnet.filter"),
	face.Iso(at("networks[].noAllowedAddressPairs", "ports[].allowedAddressPairs[].ipAddress", "ports[].allowedAddressPairs[].macAddress"),
		at("allowedAddressPairs[].ipAddress", "allowedAddressPairs[].macAddress"),
		"The port of an entry of networks gets the Infrastructure's virtual addresses (apiServerInternalIPs, ingressIPs), unless noAllowedAddressPairs is "+
			"true or the load balancer is the user's own. Machine API adds these addresses itself; for Cluster API the mirror lists them. The "+
			"Infrastructure may get addresses of another family later, so a machine with an instance needs only some of the addresses. An entry of ports "+
			"has address pairs of its own.",
		pairsTo, pairsFrom),
	face.Iso(at("networks[].portTags", "networks[].subnets[].portTags", "ports[].tags"), at("tags"),
		"The tags of a network's subnets come back as tags of the network. A tag that is listed twice is an error.", portTagsTo, portTagsFrom),
	word(at("networks[].vnicType", "ports[].vnicType"), "vnicType", vnicType),
	face.Iso(at("networks[].profile", "ports[].profile"), at("profile.ovsHWOffload", "profile.trustedVF"),
		"The key capabilities with the value [switchdev] becomes ovsHWOffload, and the key trusted becomes trustedVF. Cluster API has no field for any "+
			"other key. False in ovsHWOffload means the same as absent, and comes back as absent.", profileTo, profileFrom),
	face.Iso(at("networks[].portSecurity", "ports[].portSecurity"), at("disablePortSecurity"), "The opposite.", securityTo, securityFrom),
	face.Iso(at("ports[].securityGroups"), at("securityGroups"), "By id.", ownGroupsTo, ownGroupsFrom),
	word(at("ports[].nameSuffix"), "nameSuffix", nameSuffix),
	word(at("ports[].description"), "description", description),
	word(at("ports[].macAddress"), "macAddress", macAddress),
	flag(at("ports[].adminStateUp"), "adminStateUp", adminStateUp),
	flag(at("ports[].trunk"), "trunk", trunk),
}

var (
	network conversion.Rows[machinev1alpha1.Filter, openstackv1.NetworkFilter]
	subnet  conversion.Rows[machinev1alpha1.SubnetFilter, openstackv1.SubnetFilter]
	group   conversion.Rows[machinev1alpha1.SecurityGroupFilter, openstackv1.SecurityGroupFilter]
	secured conversion.Rows[machinev1alpha1.SecurityGroupParam, openstackv1.SecurityGroupParam]
)

// These are notes about the members of filters for projects and tags.
const (
	projectNote = "tenantId is the former name of projectId, so it comes back as projectId. If both are given, they must be equal."
	tagNote     = "The tags, separated by commas in Machine API, become a list. An empty tag, or a tag that is listed twice, is an error."
)

// NetworkFilters converts a filter for networks.
var NetworkFilters = conversion.Table[machinev1alpha1.Filter, openstackv1.NetworkFilter]{
	network.Same("name", "name"),
	network.Same("description", "description"),
	network.Iso(at("projectId", "tenantId"), at("projectID"), projectNote,
		func(p *pass, m *machinev1alpha1.Filter, c *openstackv1.NetworkFilter) {
			c.ProjectID = project(p, m.ProjectID, m.TenantID)
		},
		func(_ *pass, c *openstackv1.NetworkFilter, m *machinev1alpha1.Filter) { m.ProjectID = c.ProjectID }),
	network.Iso(at("tags", "tagsAny", "notTags", "notTagsAny"), at("tags", "tagsAny", "notTags", "notTagsAny"), tagNote,
		func(p *pass, m *machinev1alpha1.Filter, c *openstackv1.NetworkFilter) {
			c.FilterByNeutronTags = byTags(p, m.Tags, m.TagsAny, m.NotTags, m.NotTagsAny)
		},
		func(p *pass, c *openstackv1.NetworkFilter, m *machinev1alpha1.Filter) {
			m.Tags, m.TagsAny, m.NotTags, m.NotTagsAny = byTagsBack(p, c.FilterByNeutronTags)
		}),
}

// SubnetFilters converts a filter for subnets.
var SubnetFilters = conversion.Table[machinev1alpha1.SubnetFilter, openstackv1.SubnetFilter]{
	subnet.Same("name", "name"),
	subnet.Same("description", "description"),
	subnet.Iso(at("projectId", "tenantId"), at("projectID"), projectNote,
		func(p *pass, m *machinev1alpha1.SubnetFilter, c *openstackv1.SubnetFilter) {
			c.ProjectID = project(p, m.ProjectID, m.TenantID)
		},
		func(_ *pass, c *openstackv1.SubnetFilter, m *machinev1alpha1.SubnetFilter) { m.ProjectID = c.ProjectID }),
	subnet.Same("ipVersion", "ipVersion"),
	subnet.Same("gateway_ip", "gatewayIP"),
	subnet.Same("cidr", "cidr"),
	subnet.Same("ipv6AddressMode", "ipv6AddressMode"),
	subnet.Same("ipv6RaMode", "ipv6RAMode"),
	subnet.Iso(at("tags", "tagsAny", "notTags", "notTagsAny"), at("tags", "tagsAny", "notTags", "notTagsAny"), tagNote,
		func(p *pass, m *machinev1alpha1.SubnetFilter, c *openstackv1.SubnetFilter) {
			c.FilterByNeutronTags = byTags(p, m.Tags, m.TagsAny, m.NotTags, m.NotTagsAny)
		},
		func(p *pass, c *openstackv1.SubnetFilter, m *machinev1alpha1.SubnetFilter) {
			m.Tags, m.TagsAny, m.NotTags, m.NotTagsAny = byTagsBack(p, c.FilterByNeutronTags)
		}),
}

// SecurityGroupFilters converts a filter for security groups. The filter's name is converted by SecurityGroups, because Machine API can have the name in two
// places.
var SecurityGroupFilters = conversion.Table[machinev1alpha1.SecurityGroupFilter, openstackv1.SecurityGroupFilter]{
	group.Same("description", "description"),
	group.Iso(at("projectId", "tenantId"), at("projectID"), projectNote,
		func(p *pass, m *machinev1alpha1.SecurityGroupFilter, c *openstackv1.SecurityGroupFilter) {
			c.ProjectID = project(p, m.ProjectID, m.TenantID)
		},
		func(_ *pass, c *openstackv1.SecurityGroupFilter, m *machinev1alpha1.SecurityGroupFilter) {
			m.ProjectID = c.ProjectID
		}),
	group.Iso(at("tags", "tagsAny", "notTags", "notTagsAny"), at("tags", "tagsAny", "notTags", "notTagsAny"), tagNote,
		func(p *pass, m *machinev1alpha1.SecurityGroupFilter, c *openstackv1.SecurityGroupFilter) {
			c.FilterByNeutronTags = byTags(p, m.Tags, m.TagsAny, m.NotTags, m.NotTagsAny)
		},
		func(p *pass, c *openstackv1.SecurityGroupFilter, m *machinev1alpha1.SecurityGroupFilter) {
			m.Tags, m.TagsAny, m.NotTags, m.NotTagsAny = byTagsBack(p, c.FilterByNeutronTags)
		}),
}

// SecurityGroups converts one security group.
var SecurityGroups = conversion.Table[machinev1alpha1.SecurityGroupParam, openstackv1.SecurityGroupParam]{
	secured.Iso(at("uuid", "name", "filter.id", "filter.name"), at("id", "filter.name"),
		"The security group is given by its id, which is a UUID, or, without an id, by its name and a filter. In the conversion back, the name becomes "+
			"name and the id becomes uuid.", groupTo, groupFrom).
		With(SecurityGroupFilters.Lines(), "filter", "filter"),
}

var device conversion.Rows[machinev1alpha1.AdditionalBlockDevice, openstackv1.AdditionalBlockDevice]

// BlockDevices converts one additional block device.
var BlockDevices = conversion.Table[machinev1alpha1.AdditionalBlockDevice, openstackv1.AdditionalBlockDevice]{
	device.Same("name", "name"),
	device.Iso(at("sizeGiB"), at("sizeGiB"), "The size must be at least 1 GiB.", sizeTo, sizeFrom),
	device.Words("storage.type", "storage.type", "",
		conversion.Word{MachineAPI: "Volume", ClusterAPI: "Volume"},
		conversion.Word{MachineAPI: "Local", ClusterAPI: "Local"}),
	device.Same("storage.volume.type", "storage.volume.type"),
	device.Iso(at("storage.volume.availabilityZone"), at("storage.volume.availabilityZone.from", "storage.volume.availabilityZone.name"),
		"The zone becomes an availabilityZone whose field from is Name. If the zone is absent, the field from is Machine, because Machine API then uses "+
			"the server's zone. An absent availabilityZone in Cluster API means Cinder's default zone. The name of a zone must have no spaces.",
		deviceZoneTo, deviceZoneFrom),
}
