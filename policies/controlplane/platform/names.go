// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import "regexp"

// NameLimit is a limit on names.
type NameLimit struct {
	// Of names what the limit applies to, and where the limit is documented.
	Of  string
	Max int
	// Pattern is what a name must match; nil allows any name of an object of Kubernetes. Shape describes Pattern in words.
	Pattern *regexp.Regexp
	Shape   string
}

// hostName is the limit for a host on any platform: the kubelet writes the host's name to the Node as the label kubernetes.io/hostname, and a label's value has
// at most 63 characters (Kubernetes › Labels and Selectors › Syntax and character set).
var hostName = NameLimit{Of: "a host (the value of its Node's label kubernetes.io/hostname)", Max: 63}

// The limits of the platforms. AWS has none: the name of a Machine is a tag there, and the host is named after its address.
var (
	// Azure › Naming rules and restrictions › Microsoft.Compute: virtualMachines, Linux
	azureNames = []NameLimit{hostName, {Of: "a virtual machine of Azure (Microsoft.Compute/virtualMachines, Linux)", Max: 64}}
	// Compute Engine API › instances › name, RFC 1035
	gcpNames = []NameLimit{{
		Of: "an instance of GCP (RFC 1035)", Max: 63, Pattern: regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`),
		Shape: "such a name begins with a letter and has no dots",
	}}
	// Nova makes the host's name from the server's name
	openStackNames = []NameLimit{hostName, {Of: "a server of OpenStack", Max: 255}}
	// vSphere › Configuration: a virtual machine's name; guestinfo.hostname is the same
	vSphereNames = []NameLimit{hostName, {Of: "a virtual machine of vSphere", Max: 80}}
	// Prism › VM name
	nutanixNames = []NameLimit{hostName, {Of: "a virtual machine of Nutanix", Max: 80}}
	// Power Cloud API › pvm-instances › serverName
	powerVSNames = []NameLimit{hostName, {Of: "an instance of Power VS", Max: 47}}
)

// NameLimits returns the limits of the platform. If the platform has none, it returns the limit on the name of any object of Kubernetes.
func (p Row) NameLimits() []NameLimit {
	if p.names != nil {
		return p.names
	}
	return []NameLimit{{Of: "an object of Kubernetes (RFC 1123 subdomain)", Max: 253}}
}
