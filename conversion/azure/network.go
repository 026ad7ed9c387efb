// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	netutils "k8s.io/utils/net"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

func interfaceTo(p *pass, m *providerSpec, c *infraSpec) {
	if m.Subnet == "" {
		p.Required("subnet", "name the subnet of the machine's interface")
	}
	accelerated := m.AcceleratedNetworking
	c.NetworkInterfaces = []azurev1.NetworkInterface{{SubnetName: m.Subnet, PrivateIPConfigs: 1, AcceleratedNetworking: &accelerated}}
}

func interfaceFrom(p *pass, c *infraSpec, m *providerSpec) {
	at, nic := checkInterfaces(p, c), oneInterface(c)
	if nic.PrivateIPConfigs < 0 || nic.PrivateIPConfigs > 1 {
		at.Unsupported("privateIPConfigs", nic.PrivateIPConfigs, "Machine API gives an interface only one private address: set privateIPConfigs to 1")
	}
	if nic.AcceleratedNetworking == nil {
		at.Required("acceleratedNetworking",
			"set acceleratedNetworking to true or false: if it is absent, Cluster API chooses by the machine's size, but Machine API uses false")
	} else {
		m.AcceleratedNetworking = *nic.AcceleratedNetworking
	}
	if m.Subnet = first(nic.SubnetName, onlySubnet(p)); m.Subnet == "" {
		at.Required("subnetName", "name the subnet: the AzureCluster does not have exactly one subnet for the Machine's role")
	}
}

// oneInterface returns the machine's first interface. A spec in the older form has no networkInterfaces, but has the interface's settings in other fields.
func oneInterface(c *infraSpec) azurev1.NetworkInterface {
	if len(c.NetworkInterfaces) == 0 {
		return azurev1.NetworkInterface{SubnetName: c.SubnetName, AcceleratedNetworking: c.AcceleratedNetworking}
	}
	return c.NetworkInterfaces[0]
}

// checkInterfaces reports an error if a spec has more than one interface, or if it has the older fields in addition. It returns the pass at the path of the
// interface.
func checkInterfaces(p *pass, c *infraSpec) *pass {
	if len(c.NetworkInterfaces) == 0 {
		return p
	}
	if c.SubnetName != "" {
		p.Invalid("subnetName", c.SubnetName,
			"cannot be set together with networkInterfaces: set the value in networkInterfaces[0], and remove it from this older field")
	}
	if c.AcceleratedNetworking != nil {
		p.Invalid("acceleratedNetworking", *c.AcceleratedNetworking,
			"cannot be set together with networkInterfaces: set the value in networkInterfaces[0], and remove it from this older field")
	}
	if n := len(c.NetworkInterfaces); n > 1 {
		p.Unsupported("networkInterfaces", n, "Machine API gives a machine only one network interface: keep one, and remove the others")
	}
	return p.At("networkInterfaces[0]")
}

// familiesTo reports an error if the cluster has IPv4 and IPv6 addresses, but the AzureCluster's network has no IPv6 range. Cluster API would then give a new
// machine no IPv6 address. Machine API does not need the range, because it decides by the subnet.
func familiesTo(p *pass, _ *providerSpec, _ *infraSpec) {
	family := configv1.IPFamilyType(p.Env.PlatformStatus("ipFamily"))
	if family != configv1.DualStackIPv4Primary && family != configv1.DualStackIPv6Primary || p.Env.InfraCluster == nil || p.Core.ProviderID != "" {
		return
	}
	blocks, _, _ := unstructured.NestedStringSlice(p.Env.InfraCluster, "spec", "networkSpec", "vnet", "cidrBlocks")
	if slices.ContainsFunc(blocks, netutils.IsIPv6CIDRString) {
		return
	}
	if len(blocks) == 0 {
		blocks = []string{"IPV4_CIDR"}
	}
	vnet := map[string]any{"cidrBlocks": append(blocks, "IPV6_CIDR")}
	patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"networkSpec": map[string]any{"vnet": vnet}}}) // cannot fail: all values are strings
	p.Amend("spec.networkSpec.vnet.cidrBlocks", nil,
		fmt.Sprintf("The Infrastructure's ipFamily is %s, but Cluster API would give new machines no IPv6 address. Add the network's IPv6 range, in the "+
			"place of IPV6_CIDR; it is among the ranges that az network vnet show -g %s -n %s --query addressSpace.addressPrefixes prints",
			family, conversion.Argument(networkResourceGroup(p)), conversion.Argument(network(p))), string(patch), "")
}

func familiesFrom(*pass, *infraSpec, *providerSpec) {}

const workersOnly = "Cluster API attaches no public address to a control plane Machine, only to a worker"

func publicIPTo(p *pass, m *providerSpec, c *infraSpec) {
	if c.AllocatePublicIP = m.PublicIP; m.PublicIP && p.Core.ControlPlane {
		p.Unsupported("publicIP", true, workersOnly+": set publicIP to false, or leave Machine API authoritative")
	}
}

func publicIPFrom(p *pass, c *infraSpec, m *providerSpec) {
	if m.PublicIP = c.AllocatePublicIP; c.AllocatePublicIP && p.Core.ControlPlane {
		p.Unsupported("allocatePublicIP", true, workersOnly)
	}
}

func publicBalancerTo(p *pass, m *providerSpec, _ *infraSpec) {
	if lacksBalancers(p, m) {
		if others := otherBalancers(p, m); others != "" {
			p.Unsupported("internalLoadBalancer", m.InternalLoadBalancer, "Cluster API attaches all control plane Machines to the same load balancers, but "+
				"other control plane Machines have "+others+": give all control plane Machines the same internalLoadBalancer and publicLoadBalancer")
			return
		}
		p.Replace("spec.networkSpec.apiServerLB", nil, balancersNote(p, m), balancersPatch(p, m))
		return
	}
	want := publicBalancer(p, m.Subnet, m.PublicIP)
	if m.PublicLoadBalancer == "" && want != "" && !p.Core.ControlPlane {
		own := p.Env.ClusterName + "-internal"
		p.Replace("spec.networkSpec.nodeOutboundLB", want,
			"Cluster API would attach this worker to nodeOutboundLB, but Machine API attaches it to no load balancer. If no worker has a "+
				"publicLoadBalancer, because outbound traffic uses your own routes or a NAT gateway, leave nodeOutboundLB out of the AzureCluster",
			fmt.Sprintf(`{"spec":{"networkSpec":{"nodeOutboundLB":null,"apiServerLB":{"name":%q,"type":"Internal","frontendIPs":null}}}}`, own))
		return
	}
	attached(p, "publicLoadBalancer", m.PublicLoadBalancer, want)
}

// lacksBalancers reports whether the AzureCluster needs other load balancers for a control plane Machine. It is true if the Machine has an internal load
// balancer, the AzureCluster's load balancers are not the Machine's, and no user has chosen the AzureCluster's (namesOthers). The reason for the difference
// is that OpenShift's operator writes no load balancers into an AzureCluster, and the provider's webhook then generates some.
func lacksBalancers(p *pass, m *providerSpec) bool {
	return p.Core.ControlPlane && p.Env.InfraCluster != nil && m.InternalLoadBalancer != "" &&
		!(strings.EqualFold(m.InternalLoadBalancer, internalBalancer(p)) && strings.EqualFold(m.PublicLoadBalancer, publicBalancer(p, m.Subnet, m.PublicIP))) &&
		!namesOthers(p, m)
}

// namesOthers reports whether the AzureCluster has a control plane load balancer that the Machine does not have, and whose name comes from a user and not
// from the provider's webhook. Such a load balancer must not be replaced, because another Machine may need it.
func namesOthers(p *pass, m *providerSpec) bool {
	internal, outbound := internalBalancer(p), balancer(p, "controlPlaneOutboundLB")
	return internal != "" && !strings.EqualFold(internal, p.Env.ClusterName+"-internal-lb") && !strings.EqualFold(internal, m.InternalLoadBalancer) ||
		outbound != "" && !strings.EqualFold(outbound, p.Env.ClusterName+"-outbound-lb") && !strings.EqualFold(outbound, m.PublicLoadBalancer)
}

// otherBalancers returns the load balancers of a control plane Machine whose load balancers differ from m's; "" if all known control plane Machines have the
// same.
func otherBalancers(p *pass, m *providerSpec) string {
	for _, master := range p.Env.ControlPlane {
		if master.Name == p.Core.Name {
			continue // m is the current providerSpec of this Machine
		}
		content, other := master.ProviderSpec, providerSpec{}
		raw, err := json.Marshal(map[string]any{"internalLoadBalancer": content["internalLoadBalancer"], "publicLoadBalancer": content["publicLoadBalancer"]})
		if err != nil || json.Unmarshal(raw, &other) != nil {
			continue
		}
		if other.InternalLoadBalancer == "" {
			continue // not set yet: Machine API's actuator sets it later
		}
		if !strings.EqualFold(other.InternalLoadBalancer, m.InternalLoadBalancer) || !strings.EqualFold(other.PublicLoadBalancer, m.PublicLoadBalancer) {
			return fmt.Sprintf("%q and %q", other.InternalLoadBalancer, other.PublicLoadBalancer)
		}
	}
	return ""
}

// These are placeholders, in commands, for the names of backend pools, because no object of the cluster contains these names.
const internalPool, publicPool = "INTERNAL_POOL", "PUBLIC_POOL"

func balancersNote(p *pass, m *providerSpec) string {
	list := func(pool, balancer string) string {
		return fmt.Sprintf("%s stands for the pool that az network lb address-pool list -g %s --lb-name %s prints",
			pool, conversion.Argument(resourceGroup(p)), conversion.Argument(balancer))
	}
	note := "The AzureCluster does not name the cluster's load balancers, so Cluster API would attach control plane Machines to other load balancers than " +
		"Machine API does. " + list(internalPool, m.InternalLoadBalancer)
	if m.PublicLoadBalancer != "" && outboundPool(p, m.PublicLoadBalancer) == publicPool {
		note += "; " + list(publicPool, m.PublicLoadBalancer)
	}
	return note
}

// outboundPool returns the name of a load balancer's backend pool. The AzureCluster has this name if the load balancer is also the workers'. Otherwise the
// result is publicPool.
func outboundPool(p *pass, name string) string {
	if pool, _ := p.Env.InfraClusterString("spec", "networkSpec", "nodeOutboundLB", "backendPool", "name"); pool != "" &&
		strings.EqualFold(name, balancer(p, "nodeOutboundLB")) {
		return pool
	}
	return publicPool
}

// balancersPatch returns a merge patch that gives the AzureCluster a control plane Machine's load balancers. The internal load balancer becomes apiServerLB,
// through which external requests also reach the control plane. The public load balancer becomes controlPlaneOutboundLB, which is for outbound traffic.
func balancersPatch(p *pass, m *providerSpec) string {
	pool := func(name string) map[string]any { return map[string]any{"name": name} }
	network := map[string]any{
		"apiServerLB":            map[string]any{"name": m.InternalLoadBalancer, "type": "Internal", "frontendIPs": nil, "backendPool": pool(internalPool)},
		"controlPlaneOutboundLB": nil,
	}
	if name := m.PublicLoadBalancer; name != "" {
		network["controlPlaneOutboundLB"] = map[string]any{"name": name, "backendPool": pool(outboundPool(p, name))}
	}
	patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"networkSpec": network}}) // cannot fail: all values are strings
	return string(patch)
}

func publicBalancerFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.PublicLoadBalancer = publicBalancer(p, first(oneInterface(c).SubnetName, onlySubnet(p)), c.AllocatePublicIP)
}

func internalBalancerTo(p *pass, m *providerSpec, _ *infraSpec) {
	switch have := m.InternalLoadBalancer; {
	case !p.Core.ControlPlane && have != "":
		p.Unsupported("internalLoadBalancer", have,
			`Cluster API attaches only control plane Machines to an internal load balancer: set internalLoadBalancer to "", or leave Machine API `+
				"authoritative")
	case !lacksBalancers(p, m): // otherwise publicBalancerTo reports the error about both load balancers
		attached(p, "internalLoadBalancer", have, internalBalancer(p))
	}
}

func internalBalancerFrom(p *pass, _ *infraSpec, m *providerSpec) {
	m.InternalLoadBalancer = internalBalancer(p)
}

// attachedTo describes the load balancer to which Cluster API attaches a machine.
const attachedTo = "the load balancer of the AzureCluster to which Cluster API attaches this machine"

// attached reports an error if a Machine's load balancer (have) is not the one to which Cluster API attaches it (want).
func attached(p *pass, path, have, want string) {
	if p.Env.InfraCluster == nil {
		if have != "" {
			p.Incomparable(path, have, attachedTo)
		}
		return
	}
	if want == "" && !p.Core.ControlPlane && have != "" {
		p.Unsupported(path, have,
			"Cluster API attaches this worker to no load balancer, because the worker has a public address, its subnet has a NAT gateway, or the "+
				`AzureCluster has no load balancer for workers. Set publicLoadBalancer to "", or leave Machine API authoritative`)
		return
	}
	if !strings.EqualFold(have, want) {
		p.Differs(path, have, attachedTo, first(want, "none"))
	}
}

// publicBalancer returns the name of the load balancer that Cluster API attaches a machine to for outbound traffic, or as a public API server; "" for none.
func publicBalancer(p *pass, subnet string, publicIP bool) string {
	switch {
	case p.Core.ControlPlane && privateAPI(p):
		return balancer(p, "controlPlaneOutboundLB")
	case p.Core.ControlPlane:
		return balancer(p, "apiServerLB")
	case publicIP || subnetNamed(p, subnet).natGateway != "":
		return ""
	}
	return balancer(p, "nodeOutboundLB")
}

func internalBalancer(p *pass) string {
	if p.Core.ControlPlane && privateAPI(p) {
		return balancer(p, "apiServerLB")
	}
	return ""
}

func securityGroupTo(p *pass, m *providerSpec, _ *infraSpec) {
	have, want := m.SecurityGroup, subnetNamed(p, m.Subnet).securityGroup
	if have == "" || strings.EqualFold(have, want) {
		return
	}
	reason := fmt.Sprintf("Cluster API attaches security groups only to subnets, not to machines: if the security group of subnet %q has the same rules, "+
		"remove securityGroup", m.Subnet)
	switch {
	case want != "":
		reason += fmt.Sprintf(". According to the AzureCluster, the subnet's security group is %q", want)
	case p.Env.InfraCluster != nil:
		reason += ". The AzureCluster does not name the subnet's security group"
	}
	p.Unsupported("securityGroup", have, reason)
}

func securityGroupFrom(*pass, *infraSpec, *providerSpec) {}
