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
	noSchedule = "Machine API gives the scheduler only the server group and the availability zone as hints: remove them"
)

// Fields converts a providerSpec into the spec of an OpenStackMachine and back.
var Fields = append(conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"Written as OpenstackProviderSpec of machine.openshift.io/v1alpha1. Any value is read, except another platform's kind: "+
			"the Machine API goes by the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "metadata inside a providerSpec means nothing: remove it"),

	// The cloud.
	of.Iso(at("cloudsSecret.name", "cloudsSecret.namespace", "cloudName"), at("identityRef.type", "identityRef.name", "identityRef.cloudName",
		ofCluster+"spec.identityRef"),
		"If the secret and cloud are the OpenStackCluster's, identityRef stays absent, because Cluster API uses these by default. Any other secret becomes "+
			"an identityRef of type Secret, and must also exist by this name in Cluster API's namespace. Machine API's secret must be in Machine API's "+
			"namespace.",
		cloudTo, cloudFrom),
	of.OnlyCAPI("identityRef.region", "Machine API takes the region from clouds.yaml: set region_name there"),

	// The server.
	of.Iso(at("flavor"), at("flavor"), "By name; required.", flavorTo, flavorFrom),
	of.OnlyCAPI("flavorID", "Machine API finds flavors by name: give flavor"),
	of.Iso(at("image", "rootVolume.sourceUUID"), at("image.id", "image.filter.name"),
		"A name becomes a filter by name, which must match one image. A sourceUUID that is a UUID becomes the id. Any other sourceUUID is a name: the installer "+
			"writes a name there. If both are given, sourceUUID counts. Machine API has a field for the id of an image only if there is a root volume.",
		imageTo, imageFrom),
	of.OnlyCAPI("image.filter.tags", "Machine API finds images by name: give only image.filter.name"),
	of.OnlyCAPI("image.imageRef.*", "Machine API has no Image objects: give image.filter.name"),
	of.Same("keyName", "sshKeyName"),
	of.Same("configDrive", "configDrive"),
	of.Iso(at("tags"), at("tags", ofCluster+"spec.tags"),
		"Copied. The machine must also name the OpenStackCluster's tags: Cluster API gives them to each server and port by default, Machine API only if the "+
			"providerSpec names them. A tag given twice is an error. A template also gets the tags that Machine API gives each server by itself: "+
			"cluster-api-provider-openstack and openshift-machine-api-CLUSTER.",
		tagsTo, tagsFrom),
	of.Iso(at("serverMetadata"), at("serverMetadata[].key", "serverMetadata[].value"),
		"The map becomes a list in the order of the keys. Keys and values have at most 255 characters. A key given twice is an error.", metadataTo, metadataFrom),
	of.Iso(at("serverGroupID", "serverGroupName"), at("serverGroup.id", "serverGroup.filter.name"),
		"By id, or else by name. If no group has this name, Machine API creates one; Cluster API needs an existing group.", serverGroupTo, serverGroupFrom),
	of.OnlyCAPI("schedulerHintAdditionalProperties.*", noSchedule),
	of.Iso(at(ofMachine+"spec.providerID"), at("providerID"), "A template has none.", providerIDTo, providerIDFrom),
	of.Iso(at("userDataSecret.name", "userDataSecret.namespace"), at(ofMachine+"spec.bootstrap.dataSecretName"),
		"Required on both sides: Cluster API creates no Machine without bootstrap data. The namespace is each API's own.", userDataTo, userDataFrom),
	of.Iso(at("availabilityZone"), at(ofMachine+"spec.failureDomain"), "", zoneTo, zoneFrom),

	// The interfaces, the floating IPs, and the API server's load balancer.
	of.Iso(at("networks", "ports", "securityGroups"), at("ports", "securityGroups",
		ofCluster+"spec.network", ofCluster+"spec.subnets", ofCluster+"spec.managedSecurityGroups", "Infrastructure"+conversion.Elsewhere+
			"status.platformStatus.openstack"),
		"The networks and then the ports become one list, in their order. On the way back the first ports become networks, as far as an entry of networks "+
			"can express them; from the first port that it cannot express, all become ports. One interface in the OpenStackCluster's subnets without other "+
			"settings becomes an absent list of ports, and the reverse. Neither networks nor ports is an error. Machine API uses a port's own security "+
			"groups instead of the machine's, and none on a port without port security. Cluster API adds the machine's groups to every port. If the result "+
			"would differ, each port gets its groups, and the machine gets none.",
		interfacesTo, interfacesFrom).
		With(Interfaces.Lines(), "", "ports[]").
		With(SecurityGroups.Lines(), "securityGroups[]", "securityGroups[]", "ports[].securityGroups[]"),
	of.Same("trunk", "trunk"),
	of.OnlyMAPI("floatingIP", "Cluster API attaches no floating IP by its address: associate the address with the server's port yourself, and remove it here"),
	of.OnlyCAPI("floatingIPPoolRef.*", "Machine API takes no floating IPs from a pool: remove it"),
	of.OnlyCAPI("ports[].hostID", noPortOpt),
	of.OnlyCAPI("ports[].propagateUplinkStatus", noPortOpt),
	of.OnlyCAPI("ports[].valueSpecs.*", noPortOpt),
	of.Iso(nil, at(ofCluster+"spec.apiServerLoadBalancer", ofCluster+"spec.disableAPIServerFloatingIP"),
		"Control plane Machines only: the OpenStackCluster must have neither a load balancer nor a floating IP for control plane Machines, because Machine "+
			"API's have none.",
		endpointTo, endpointFrom),

	// The disks.
	of.Iso(at("rootVolume.diskSize"), at("rootVolume.sizeGiB"), "Required if there is a root volume, and at least 1.", rootSizeTo, rootSizeFrom),
	of.Same("rootVolume.volumeType", "rootVolume.type"),
	of.Iso(at("rootVolume.availabilityZone"), at("rootVolume.availabilityZone.from", "rootVolume.availabilityZone.name"),
		"A zone becomes from: Name with this name. If it is absent, Cinder chooses the zone. from: Machine comes back as the name of the Machine's failure "+
			"domain. No spaces.", rootZoneTo, rootZoneFrom),
	of.Iso(at("additionalBlockDevices"), at("additionalBlockDevices"), "In their order. Each has its own name, which is not root.", devicesTo, devicesFrom).
		With(BlockDevices.Lines(), "additionalBlockDevices[]", "additionalBlockDevices[]"),

	// Machine API has these fields only for old manifests, and does not read them.
}, of.Unread(unread.Members("OpenStack"))...)

var face conversion.Rows[nic, port]

// Interfaces converts one interface, from either of Machine API's two lists.
var Interfaces = conversion.Table[nic, port]{
	face.Iso(at("networks[].uuid", "networks[].filter.id", "networks[].subnets[].uuid", "networks[].subnets[].filter.id", "ports[].networkID",
		"ports[].fixedIPs[].subnetID", "ports[].fixedIPs[].ipAddress"),
		at("network.id", "fixedIPs[].subnet.id", "fixedIPs[].ipAddress"),
		"By id, which is a UUID, or else by filter. A network with several subnets becomes one port with an address in each. Subnets without a network "+
			"become one port each, as in Machine API. Such subnets must be the OpenStackCluster's, or of the OpenStackCluster's network, which the mirror "+
			"then names: Cluster API puts a port without a network into the OpenStackCluster's subnets, and ignores its fixedIPs. Entries of ports can only "+
			"have ids.",
		placeTo, placeFrom).
		With(NetworkFilters.Lines(), "networks[].filter", "network.filter").
		With(SubnetFilters.Lines(), "networks[].subnets[].filter", "fixedIPs[].subnet.filter"),
	face.Iso(at("networks[].noAllowedAddressPairs", "ports[].allowedAddressPairs[].ipAddress", "ports[].allowedAddressPairs[].macAddress"),
		at("allowedAddressPairs[].ipAddress", "allowedAddressPairs[].macAddress"),
		"The port of an entry of networks gets the Infrastructure's virtual addresses (apiServerInternalIPs, ingressIPs), unless noAllowedAddressPairs is "+
			"true or the load balancer is the user's. Machine API adds them itself; the mirror writes them for Cluster API. The Infrastructure may get "+
			"addresses of another family later, so for a machine with an instance some of the addresses are enough. An entry of ports has its own pairs.",
		pairsTo, pairsFrom),
	face.Iso(at("networks[].portTags", "networks[].subnets[].portTags", "ports[].tags"), at("tags"),
		"Tags of a network's subnets come back as tags of the network. A tag given twice is an error.", portTagsTo, portTagsFrom),
	word(at("networks[].vnicType", "ports[].vnicType"), "vnicType", vnicType),
	face.Iso(at("networks[].profile", "ports[].profile"), at("profile.ovsHWOffload", "profile.trustedVF"),
		"The key capabilities with the value [switchdev] becomes ovsHWOffload, and the key trusted becomes trustedVF. Cluster API has no other keys. An "+
			"ovsHWOffload of false means the same as absent, and comes back as absent.", profileTo, profileFrom),
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
	projectNote = "tenantId is the former name of projectId: it comes back as projectId, and must not differ from projectId."
	tagNote     = "A text with commas becomes a list. An empty tag, or a tag given twice, is an error."
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
		"By id, which is a UUID, or else by name and filter. The name comes back as name, the id as uuid.", groupTo, groupFrom).
		With(SecurityGroupFilters.Lines(), "filter", "filter"),
}

var device conversion.Rows[machinev1alpha1.AdditionalBlockDevice, openstackv1.AdditionalBlockDevice]

// BlockDevices converts one additional block device.
var BlockDevices = conversion.Table[machinev1alpha1.AdditionalBlockDevice, openstackv1.AdditionalBlockDevice]{
	device.Same("name", "name"),
	device.Iso(at("sizeGiB"), at("sizeGiB"), "At least 1.", sizeTo, sizeFrom),
	device.Words("storage.type", "storage.type", "",
		conversion.Word{MachineAPI: "Volume", ClusterAPI: "Volume"},
		conversion.Word{MachineAPI: "Local", ClusterAPI: "Local"}),
	device.Same("storage.volume.type", "storage.volume.type"),
	device.Iso(at("storage.volume.availabilityZone"), at("storage.volume.availabilityZone.from", "storage.volume.availabilityZone.name"),
		"A zone becomes from: Name with this name. If it is absent, Machine API takes the server's zone, so absent becomes from: Machine; in Cluster API "+
			"absent is Cinder's default. No spaces.",
		deviceZoneTo, deviceZoneFrom),
}
