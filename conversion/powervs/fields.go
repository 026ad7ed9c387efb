// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/conversion"
)

type (
	providerSpec = machinev1.PowerVSMachineProviderConfig
	infraSpec    = MachineSpec
	pass         = conversion.Pass
)

// at is a short name for conversion.At, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

// cluster returns a path in the IBMPowerVSCluster (conversion.Elsewhere).
func cluster(path string) string { return "IBMPowerVSCluster" + conversion.Elsewhere + path }

var of conversion.Rows[providerSpec, infraSpec]

// These are reasons that more than one row gives.
const (
	noWorkspaceRegEx = "neither API finds a workspace by a regular expression: give the workspace's id, or the name that the IBMPowerVSCluster has for it"
	noImageRegEx     = "neither API finds an image by a regular expression: give the image's id or name"
)

// Fields converts a providerSpec into the spec of an IBMPowerVSMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"The conversion writes PowerVSMachineProviderConfig of machine.openshift.io/v1. It accepts any value except the kind of another platform, because "+
			"Machine API does not read these fields: it uses the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "neither API reads metadata inside a providerSpec: remove it"),

	// Where it runs.
	of.Iso(at("serviceInstance.type", "serviceInstance.id", "serviceInstance.name"),
		at("serviceInstance.id", "serviceInstance.name", "serviceInstanceID", cluster("spec.serviceInstance"), cluster("spec.serviceInstanceID"),
			cluster("status.serviceInstance.id")),
		"If the IBMPowerVSCluster names a workspace, the machine's workspace must be the same, because the provider builds a machine's provider id from "+
			"the IBMPowerVSCluster's workspace, and finds no other workspace by name. If the IBMPowerVSCluster names none, the name of the workspace is "+
			"CLUSTER-serviceInstance. serviceInstanceID is an older form of the id, and comes back as serviceInstance.id. A machine without a workspace "+
			"comes back with the name that the IBMPowerVSCluster has for it.",
		workspaceTo, workspaceFrom),
	of.OnlyMAPI("serviceInstance.regex", noWorkspaceRegEx),
	of.OnlyCAPI("serviceInstance.regex", noWorkspaceRegEx),
	of.Iso(nil, at("Machine"+conversion.Elsewhere+"spec.failureDomain"),
		"The field must be absent. Machine API has no field for a zone and needs none, because a workspace is in one zone.", nothing, zoneFrom),
	of.Iso(at("network.type", "network.id", "network.name", "network.regex"), at("network.id", "network.name", "network.regex", cluster("status.network.id")),
		"The network is given by its id, by its name, or by a regular expression, which stands for the first network whose name matches. If a machine in "+
			"Cluster API names no network, it is in the cluster's network, and comes back with the id of this network.",
		networkTo, networkFrom),
	of.Iso(nil, at("providerID", "Machine"+conversion.Elsewhere+"spec.providerID"),
		"The provider id is ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE on both sides. Its workspace must be the machine's workspace. A template has no "+
			"provider id.", providerIDTo, providerIDFrom),

	// The instance.
	of.Iso(at("image.type", "image.id", "image.name"), at("image.id", "image.name", "imageRef.name"),
		"The image is given by its id or by its name. An IBMPowerVSImage has the same name as its image, so imageRef comes back as "+
			"image.name.", imageTo, imageFrom),
	of.OnlyMAPI("image.regex", noImageRegEx),
	of.OnlyCAPI("image.regex", noImageRegEx),
	of.Iso(at("keyPairName"), at("sshKey"), "The key is required on both sides, because Machine API accepts no machine without a key.", keyTo, keyFrom),
	of.Iso(at("systemType"), at("systemType"), "An absent systemType means s922 on both sides, and the conversion always sets the type. It must be one of "+
		list(systemTypes())+".", systemTo, systemFrom),
	of.Iso(at("processorType"), at("processorType"),
		"An absent processorType means Shared on both sides, and the conversion always sets the type.", processorTypeTo, processorTypeFrom),
	of.Iso(at("processors"), at("processors"),
		"The number is copied, as a number or as text. An absent number means 0.5 in Machine API (1 for Dedicated processors), but 0.25 in Cluster API, so "+
			"the conversion always sets the number. It must be at least 0.25, which is the least in Cluster API, and at most what Machine API accepts: 15 "+
			"on s922, 143 on e980.",
		processorsTo, processorsFrom),
	of.Iso(at("memoryGiB"), at("memoryGiB"),
		"An absent size means 32 in Machine API, but 2 in Cluster API, so the conversion always sets the size. It must be at least 2, which is the least "+
			"in Cluster API, and at most what Machine API accepts: 942 on s922, 15307 on e980.",
		memoryTo, memoryFrom),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName"),
		"The Secret is required on both sides, because Cluster API creates no Machine without bootstrap data. spec.ignition of the IBMPowerVSCluster "+
			"determines whether the instance gets the data directly or fetches the data from a bucket.",
		userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), nil,
		"The Secret must be the cluster's own credentials Secret, or absent, which means the same. Cluster API's provider has one set of credentials for "+
			"all machines.",
		credentialsTo, credentialsFrom),

	// The load balancers.
	of.Iso(at("loadBalancers[].name", "loadBalancers[].type"), at(cluster("spec.loadBalancers"), cluster("spec.vpc.region"), cluster("status.loadBalancers")),
		"Only control plane Machines can have load balancers. They must have exactly those of the IBMPowerVSCluster, each of type Application. Cluster API "+
			"registers each control plane Machine with all load balancers of the IBMPowerVSCluster, and registers no other Machine. If spec.vpc.region is "+
			"absent, it registers no Machine. If spec.loadBalancers is absent, it uses the load balancer CLUSTER-loadbalancer. Cluster API looks for each "+
			"load balancer by its name, and uses the id that status.loadBalancers has for this name.",
		balancersTo, balancersFrom),
}
