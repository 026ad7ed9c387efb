// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

const (
	oneInterface = "Cluster API attaches exactly one network interface to an instance"
	isNull       = "is null: remove it"
)

// interfaceOf returns the only network interface of a providerSpec. It returns nil if there is no interface, or more than one.
func interfaceOf(m *providerSpec) *machinev1beta1.GCPNetworkInterface {
	if len(m.NetworkInterfaces) != 1 {
		return nil
	}
	return m.NetworkInterfaces[0]
}

// interfaceMade returns the only network interface of a providerSpec that a conversion is making. It adds the interface if there is none yet.
func interfaceMade(m *providerSpec) *machinev1beta1.GCPNetworkInterface {
	if len(m.NetworkInterfaces) == 0 {
		m.NetworkInterfaces = []*machinev1beta1.GCPNetworkInterface{{}}
	}
	return m.NetworkInterfaces[0]
}

// networkTo reports an error if a providerSpec does not have exactly one network interface, or if the interface is not in the GCPCluster's network.
func networkTo(p *pass, m *providerSpec, _ *infraSpec) {
	if len(m.NetworkInterfaces) == 0 {
		p.Required("networkInterfaces", oneInterface+": set one")
	}
	for i, n := range m.NetworkInterfaces {
		path := fmt.Sprintf("networkInterfaces[%d]", i)
		switch {
		case n == nil:
			p.Invalid(path, nil, isNull)
		case i > 0:
			p.Unsupported(path, n.Network, oneInterface+": keep the first one and remove the others, or leave Machine API authoritative")
		default:
			sameNetwork(p, path+".network", n.Network)
		}
	}
}

func sameNetwork(p *pass, path, have string) {
	switch want, ok := network(p); {
	case !ok:
	case have == "":
		p.Required(path, fmt.Sprintf("name the network that Cluster API uses, which is the GCPCluster's network %q", want))
	case have != want:
		p.Differs(path, have, "the GCPCluster's network", want)
	}
}

func networkFrom(p *pass, _ *infraSpec, m *providerSpec) {
	interfaceMade(m).Network, _ = network(p)
}

// network returns the name of the GCPCluster's network. If the GCPCluster names none, this is "default", the network that Cluster API then uses. If there is
// no GCPCluster, network reports an error and returns false.
func network(p *pass) (name string, ok bool) {
	if len(p.Env.InfraCluster) == 0 {
		cluster(p).Required("network.name", "the cluster's network is unknown, because the GCPCluster does not exist: create the GCPCluster")
		return "", false
	}
	if name, _ = p.Env.InfraClusterString("spec", "network", "name"); name == "" {
		name = "default"
	}
	return name, true
}

const networkProject = "the project of the GCPCluster's network"

func hostProjectTo(p *pass, m *providerSpec, _ *infraSpec) {
	n, want := interfaceOf(m), hostProject(p)
	if n == nil || want == "" {
		return
	}
	have := n.ProjectID
	if have == "" {
		have = project(p)
	}
	host, _ := p.Env.InfraClusterString("spec", "network", "hostProject")
	switch {
	case have == want:
	case p.Env.InfraCluster == nil:
		p.Incomparable("networkInterfaces[0].projectID", have, networkProject)
	case host == "":
		p.Amend("spec.network.hostProject", nil, fmt.Sprintf("The network is in project %q, but Cluster API would look for the network in project %q. Set "+
			"the host project. It applies to all Machines of the cluster, so each Machine needs projectID %[1]q in its network interface",
			have, want),
			fmt.Sprintf(`{"spec":{"network":{"hostProject":%q}}}`, have), "")
	default:
		p.Differs("networkInterfaces[0].projectID", have, networkProject, want)
	}
}

// hostProjectFrom writes the project of the network to the providerSpec. If this is the machine's own project, it writes nothing, like the installer.
func hostProjectFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if host := hostProject(p); host != project(p) {
		interfaceMade(m).ProjectID = host
	}
}

// hostProject returns the project of the GCPCluster's network. This is another project than the machines' if several projects share a network.
func hostProject(p *pass) string {
	if host, _ := p.Env.InfraClusterString("spec", "network", "hostProject"); host != "" {
		return host
	}
	return project(p)
}

const noSubnet = "Machine API refuses a network interface without a subnetwork: name the subnetwork"

func subnetTo(p *pass, m *providerSpec, c *infraSpec) {
	switch n := interfaceOf(m); {
	case n == nil:
	case n.Subnetwork == "":
		p.Required("networkInterfaces[0].subnetwork", noSubnet)
	default:
		c.Subnet = &n.Subnetwork
	}
}

func subnetFrom(p *pass, c *infraSpec, m *providerSpec) {
	if text(c.Subnet) == "" {
		p.Required("subnet", noSubnet)
	}
	interfaceMade(m).Subnetwork = text(c.Subnet)
}

func publicIPTo(_ *pass, m *providerSpec, c *infraSpec) {
	if n := interfaceOf(m); n != nil && n.PublicIP {
		c.PublicIP = &n.PublicIP
	}
}

// publicIPFrom converts false and an absent value to the same result, because they mean the same to the provider. It must not report an error for false,
// because nobody could remove it from a GCPMachine, which is immutable.
func publicIPFrom(_ *pass, c *infraSpec, m *providerSpec) {
	interfaceMade(m).PublicIP = c.PublicIP != nil && *c.PublicIP
}

func tagsTo(_ *pass, m *providerSpec, c *infraSpec)   { c.AdditionalNetworkTags = m.Tags }
func tagsFrom(_ *pass, c *infraSpec, m *providerSpec) { m.Tags = c.AdditionalNetworkTags }

// forwardingTo always writes Enabled or Disabled, because the defaults differ: an absent value means Enabled in Cluster API, and false in Machine API.
func forwardingTo(_ *pass, m *providerSpec, c *infraSpec) {
	word := forwardingDisabled
	if m.CanIPForward {
		word = forwardingEnabled
	}
	c.IPForwarding = &word
}

func forwardingFrom(p *pass, c *infraSpec, m *providerSpec) {
	switch {
	case c.IPForwarding == nil || *c.IPForwarding == forwardingEnabled:
		m.CanIPForward = true
	case *c.IPForwarding != forwardingDisabled:
		p.Invalid("ipForwarding", string(*c.IPForwarding), "supported values: \"Disabled\", \"Enabled\"")
	}
}
