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

// at is conversion.At under a shorter name, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }

// cluster returns a path in the IBMPowerVSCluster (conversion.Elsewhere).
func cluster(path string) string { return "IBMPowerVSCluster" + conversion.Elsewhere + path }

var of conversion.Rows[providerSpec, infraSpec]

// Reasons that more than one row gives.
const (
	noWorkspaceRegEx = "no API finds a workspace by a regular expression: give its id, or the name that the IBMPowerVSCluster gives"
	noImageRegEx     = "no API finds an image by a regular expression: give its id or its name"
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
		"The workspace must be the IBMPowerVSCluster's, as far as that names it: "+
			"the provider makes a machine's provider id from the cluster's workspace, and looks no other up by name. "+
			"Without a name there, the name is that of the cluster and -serviceInstance. serviceInstanceID is an older way to say the id, "+
			"and comes back as serviceInstance.id; a machine without it comes back with the cluster's name.",
		workspaceTo, workspaceFrom),
	of.OnlyMAPI("serviceInstance.regex", noWorkspaceRegEx),
	of.OnlyCAPI("serviceInstance.regex", noWorkspaceRegEx),
	of.Iso(nil, at("Machine"+conversion.Elsewhere+"spec.failureDomain"), "None: a workspace lies in one zone.", nothing, zoneFrom),
	of.Iso(at("network.type", "network.id", "network.name", "network.regex"), at("network.id", "network.name", "network.regex", cluster("status.network.id")),
		"By id, by name, or the first whose name matches a regular expression. Cluster API's machine that names none has the cluster's, and comes back with its id.",
		networkTo, networkFrom),
	of.Iso(nil, at("providerID", "Machine"+conversion.Elsewhere+"spec.providerID"),
		"ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE on both sides; its workspace must be the machine's. A template has none.", providerIDTo, providerIDFrom),

	// The instance.
	of.Iso(at("image.type", "image.id", "image.name"), at("image.id", "image.name", "imageRef.name"),
		"By id or by name. An IBMPowerVSImage has the name of the image that it imports or finds, so imageRef comes back as image.name.", imageTo, imageFrom),
	of.OnlyMAPI("image.regex", noImageRegEx),
	of.OnlyCAPI("image.regex", noImageRegEx),
	of.Iso(at("keyPairName"), at("sshKey"), "Required on both sides: Machine API takes no machine without a key.", keyTo, keyFrom),
	of.Iso(at("systemType"), at("systemType"), "Absent is s922 on both sides, and always said after a conversion. One of "+list(systemTypes())+
		".", systemTo, systemFrom),
	of.Iso(at("processorType"), at("processorType"), "Absent is Shared on both sides, and always said after a conversion.", processorTypeTo, processorTypeFrom),
	of.Iso(at("processors"), at("processors"),
		`As it is, a number or a word. Absent is 0.5 (for Dedicated, 1) in Machine API and 0.25 in Cluster API, so it is always said after a conversion. `+
			`At least 0.25, Cluster API's least, and at most what Machine API takes: 15 on s922, 143 on e980.`,
		processorsTo, processorsFrom),
	of.Iso(at("memoryGiB"), at("memoryGiB"),
		"Absent is 32 in Machine API and 2 in Cluster API, so it is always said after a conversion. "+
			"At least 2, Cluster API's least, and at most what Machine API takes: 942 on s922, 15307 on e980.",
		memoryTo, memoryFrom),

	// User data and credentials.
	of.Iso(at("userDataSecret.name"), at("Machine"+conversion.Elsewhere+"spec.bootstrap.dataSecretName"),
		"Required on both sides: Cluster API creates no Machine without bootstrap data. "+
			"Whether the instance gets it as it is or fetches it from a bucket is said by spec.ignition of the IBMPowerVSCluster.",
		userDataTo, userDataFrom),
	of.Iso(at("credentialsSecret.name"), nil,
		"Must be the cluster's own secret, or absent, which means the same; Cluster API's provider has one set of credentials for all.",
		credentialsTo, credentialsFrom),

	// The load balancers.
	of.Iso(at("loadBalancers[].name", "loadBalancers[].type"), at(cluster("spec.loadBalancers"), cluster("spec.vpc.region"), cluster("status.loadBalancers")),
		"Control plane Machines only, and exactly those of the IBMPowerVSCluster, each an Application load balancer: "+
			"Cluster API registers control plane Machines with all of them (with none while spec.vpc.region is not said; "+
			"without a list, with the one that is named after the cluster), and no other Machine with any. "+
			"It looks each of them up by its name, and registers with the id that the status has for that name.",
		balancersTo, balancersFrom),
}
