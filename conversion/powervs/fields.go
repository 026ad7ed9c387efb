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
	noWorkspaceRegEx = "neither API finds a workspace by a regular expression: give the workspace's id, or its name in the IBMPowerVSCluster"
	noImageRegEx     = "neither API finds an image by a regular expression: give the image's id or name"
)

// Fields converts a providerSpec into the spec of an IBMPowerVSMachine and back.
var Fields = conversion.Table[providerSpec, infraSpec]{
	of.Iso(at("kind", "apiVersion"), nil,
		"Written as PowerVSMachineProviderConfig of machine.openshift.io/v1. Any value is read, except another platform's kind: "+
			"the Machine API goes by the cluster's platform.",
		nothing, nothingBack),
	of.OnlyMAPI("metadata.*", "metadata inside a providerSpec means nothing: remove it"),

	// Where it runs.
	of.Iso(at("serviceInstance.type", "serviceInstance.id", "serviceInstance.name"),
		at("serviceInstance.id", "serviceInstance.name", "serviceInstanceID", cluster("spec.serviceInstance"), cluster("spec.serviceInstanceID"),
			cluster("status.serviceInstance.id")),
		"If the IBMPowerVSCluster names a workspace, the machine's must be the same: the provider builds a machine's provider id from the cluster's "+
			"workspace, and looks up no other workspace by name. If the IBMPowerVSCluster names none, the name is CLUSTER-serviceInstance. "+
			"serviceInstanceID is an older form of the id, and comes back as serviceInstance.id; a machine without a workspace comes back with the "+
			"cluster's name of it.",
		workspaceTo, workspaceFrom),
	of.OnlyMAPI("serviceInstance.regex", noWorkspaceRegEx),
	of.OnlyCAPI("serviceInstance.regex", noWorkspaceRegEx),
	of.Iso(nil, at("Machine"+conversion.Elsewhere+"spec.failureDomain"), "Must be absent: a workspace is in one zone.", nothing, zoneFrom),
	of.Iso(at("network.type", "network.id", "network.name", "network.regex"), at("network.id", "network.name", "network.regex", cluster("status.network.id")),
		"By id, by name, or the first network whose name matches a regular expression. If a machine of Cluster API names no network, it has the cluster's, "+
			"and comes back with the id of that network.",
		networkTo, networkFrom),
	of.Iso(nil, at("providerID", "Machine"+conversion.Elsewhere+"spec.providerID"),
		"ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE on both sides; its workspace must be the machine's. A template has none.", providerIDTo, providerIDFrom),

	// The instance.
	of.Iso(at("image.type", "image.id", "image.name"), at("image.id", "image.name", "imageRef.name"),
		"By id or by name. An IBMPowerVSImage has the name of its image, so imageRef comes back as image.name.", imageTo, imageFrom),
	of.OnlyMAPI("image.regex", noImageRegEx),
	of.OnlyCAPI("image.regex", noImageRegEx),
	of.Iso(at("keyPairName"), at("sshKey"), "Required on both sides: Machine API takes no machine without a key.", keyTo, keyFrom),
	of.Iso(at("systemType"), at("systemType"), "Absent is s922 on both sides, and the conversion always sets it. One of "+list(systemTypes())+
		".", systemTo, systemFrom),
	of.Iso(at("processorType"), at("processorType"), "Absent is Shared on both sides, and the conversion always sets it.", processorTypeTo, processorTypeFrom),
	of.Iso(at("processors"), at("processors"),
		`Copied, as a number or a text. Absent is 0.5 (for Dedicated, 1) in Machine API and 0.25 in Cluster API, so the conversion always sets it. `+
			`At least 0.25, Cluster API's least, and at most what Machine API takes: 15 on s922, 143 on e980.`,
		processorsTo, processorsFrom),
	of.Iso(at("memoryGiB"), at("memoryGiB"),
		"Absent is 32 in Machine API and 2 in Cluster API, so the conversion always sets it. At least 2, Cluster API's least, and at most what Machine API "+
			"takes: 942 on s922, 15307 on e980.",
		memoryTo, memoryFrom),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName"),
		"Required on both sides: Cluster API creates no Machine without bootstrap data. spec.ignition of the IBMPowerVSCluster determines whether the "+
			"instance gets the data directly or fetches it from a bucket.",
		userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), nil,
		"Must be the cluster's own secret, or absent, which means the same; Cluster API's provider has one set of credentials for all.",
		credentialsTo, credentialsFrom),

	// The load balancers.
	of.Iso(at("loadBalancers[].name", "loadBalancers[].type"), at(cluster("spec.loadBalancers"), cluster("spec.vpc.region"), cluster("status.loadBalancers")),
		"Control plane Machines only, and exactly the load balancers of the IBMPowerVSCluster, each of type Application. Cluster API registers each control "+
			"plane Machine with all of them, and no other Machine with any. If spec.vpc.region is absent, it registers with none; if the list is absent, "+
			"with the load balancer that has the cluster's name. Cluster API looks up each load balancer by its name, and uses the id that the status has "+
			"for this name.",
		balancersTo, balancersFrom),
}
