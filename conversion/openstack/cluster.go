// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

// cluster is the part of the OpenStackCluster that the rows read for each port. Therefore it has no list of any length: the CRD accepts few subnets.
type cluster struct {
	Spec struct {
		Network                    *openstackv1.NetworkParam          `json:"network"`
		Subnets                    []openstackv1.SubnetParam          `json:"subnets"`
		APIServerLoadBalancer      *openstackv1.APIServerLoadBalancer `json:"apiServerLoadBalancer"`
		DisableAPIServerFloatingIP *bool                              `json:"disableAPIServerFloatingIP"`
		DisableExternalNetwork     *bool                              `json:"disableExternalNetwork"`
	} `json:"spec"`
	Status struct {
		Network *openstackv1.NetworkStatus `json:"network"`
	} `json:"status"`
}

// clusterOf returns the OpenStackCluster. The result is empty if the OpenStackCluster does not exist or cannot be decoded.
func clusterOf(p *pass) cluster {
	var out cluster
	if runtime.DefaultUnstructuredConverter.FromUnstructured(p.Env.InfraCluster, &out) != nil {
		return cluster{}
	}
	return out
}

// network returns the network that Cluster API uses for a port without a network; nil if it is unknown.
func (c cluster) network() *openstackv1.NetworkParam {
	if n := c.Spec.Network; n != nil && (n.ID != nil || !n.Filter.IsZero()) {
		return n
	}
	if c.Status.Network != nil && c.Status.Network.ID != "" {
		return &openstackv1.NetworkParam{ID: &c.Status.Network.ID}
	}
	return nil
}

// addresses returns the fixed IPs that Cluster API gives a port without a network: one fixed IP in each of the OpenStackCluster's subnets.
func (c cluster) addresses() []openstackv1.FixedIP {
	var out []openstackv1.FixedIP
	for i := range c.Spec.Subnets {
		out = append(out, openstackv1.FixedIP{Subnet: &c.Spec.Subnets[i]})
	}
	return out
}

// clusterCloud returns the name of the machines' cloud in clouds.yaml. It reads the name from the OpenStackCluster or, if that has none, from the
// Infrastructure. If neither has a name, the result is "openstack", the name that installers have always used.
func clusterCloud(p *pass) string {
	if name, known := p.Env.InfraClusterString("spec", "identityRef", "cloudName"); known && name != "" {
		return name
	}
	if name := p.Env.PlatformStatus("cloudName"); name != "" {
		return name
	}
	return "openstack"
}

// virtual returns the cluster's virtual addresses, which move between the nodes. Machine API lets the port of each entry of networks send from these
// addresses. If the load balancer is user-managed, it has these addresses itself, and the result is empty.
func virtual(p *pass) []openstackv1.AddressPair {
	var out []openstackv1.AddressPair
	if p.Env.PlatformStatus("loadBalancer", "type") == "UserManaged" {
		return nil
	}
	for _, ip := range append(addresses(p, "apiServerInternalIPs", "apiServerInternalIP"), addresses(p, "ingressIPs", "ingressIP")...) {
		out = append(out, openstackv1.AddressPair{IPAddress: ip})
	}
	return out
}

// addresses returns a list of addresses in the Infrastructure's status. In older Infrastructures the list is absent, and the field former has a single
// address. Empty entries are left out.
func addresses(p *pass, list, former string) []string {
	many, _, err := unstructured.NestedStringSlice(p.Env.Infrastructure, "status", "platformStatus", "openstack", list)
	many = slices.DeleteFunc(many, func(ip string) bool { return ip == "" })
	if one := p.Env.PlatformStatus(former); (err != nil || len(many) == 0) && one != "" {
		return []string{one}
	}
	return many
}

// endpointTo and endpointFrom report an error for a control plane Machine if the OpenStackCluster has a load balancer or a floating IP for the API server.
// Only Cluster API uses them: a Machine that is recreated in the other API would lose, or gain, a path to the API server.
func endpointTo(p *pass, _ *providerSpec, _ *infraSpec) { checkEndpoint(p) }

func endpointFrom(p *pass, _ *infraSpec, _ *providerSpec) { checkEndpoint(p) }

func checkEndpoint(p *pass) {
	if !p.Core.ControlPlane || len(p.Env.InfraCluster) == 0 {
		return
	}
	spec := clusterOf(p).Spec
	switch {
	case spec.APIServerLoadBalancer.IsEnabled():
		p.Unsupported("", nil,
			"the OpenStackCluster has spec.apiServerLoadBalancer, so Cluster API adds each control plane Machine to this load balancer, but Machine API "+
				"does not. The provider accepts this field only when the OpenStackCluster is created, so leave Machine API authoritative for control plane "+
				"Machines")
	case !yes(spec.DisableAPIServerFloatingIP) && !yes(spec.DisableExternalNetwork):
		p.Unsupported("", nil,
			"the OpenStackCluster does not have spec.disableAPIServerFloatingIP: true, so Cluster API gives a control plane Machine a floating IP, but "+
				"Machine API does not. The provider accepts this field only when the OpenStackCluster is created, so leave Machine API authoritative for "+
				"control plane Machines")
	}
}

func yes(b *bool) bool { return b != nil && *b }

// makeCluster is the function Platform.MakeInfraCluster. It makes an OpenStackCluster's spec from the Infrastructure and the Machines' networks. Subnets
// without a network are enough, because the OpenStackCluster's controller finds the subnets' network.
func makeCluster(e *conversion.Env) (spec map[string]any, who string) {
	p := conversion.NewPass(e, &conversion.Core{}, "")
	vips := addresses(p, "apiServerInternalIPs", "apiServerInternalIP")
	if len(vips) == 0 {
		return nil, ""
	}
	tag := "openshiftClusterID=" + e.ClusterName
	const made = "OpenShift 4.21 and newer create the OpenStackCluster, unless the load balancer is the user's own. In any other cluster, create the " +
		"OpenStackCluster with the subnets of your Machines"
	spec = map[string]any{
		"controlPlaneEndpoint":       map[string]any{"host": vips[0], "port": int64(6443)},
		"disableAPIServerFloatingIP": true, "disableExternalNetwork": true,
		"identityRef": map[string]any{"name": p.Env.Credentials(), "cloudName": clusterCloud(p)},
		"tags":        []any{tag},
	}
	place := placeOfMachines(e)
	if place == nil {
		spec["subnets"] = []any{map[string]any{"id": "SUBNET"}}
		return spec, made + ". In the command, SUBNET stands for the id of the Machines' subnet, as openstack subnet list prints it"
	}
	maps.Copy(spec, place)
	return spec, made
}

// mostSubnets is the maximum number of subnets of an OpenStackCluster.
const mostSubnets = 2

// placeOfMachines returns the fields network and subnets for an OpenStackCluster's spec. They come from the first known Machine that names a network or
// subnets; if there is none, the result is nil. A Machine that names the same subnets then gets its ports in them, and need not name their network.
func placeOfMachines(e *conversion.Env) map[string]any {
	known := []map[string]any{}
	for _, m := range e.ControlPlane {
		known = append(known, m.ProviderSpec)
	}
	for _, content := range append(known, e.Example) {
		raw, err := json.Marshal(content)
		var m providerSpec
		if err != nil || json.Unmarshal(raw, &m) != nil {
			continue
		}
		for i := range m.Networks {
			if place := placeOfNetwork(e, &m.Networks[i]); place != nil {
				return place
			}
		}
	}
	return nil
}

// placeOfNetwork returns the fields network and subnets for an OpenStackCluster's spec, from an entry of a providerSpec's networks. It returns nil if the
// entry names neither a network nor subnets, or if Cluster API would not accept them.
func placeOfNetwork(e *conversion.Env, n *networkParam) map[string]any {
	p := conversion.NewPass(e, &conversion.Core{}, "")
	var out openstackv1.OpenStackClusterSpec
	subnets := n.Subnets
	if out.Network = networkTo(p, n.UUID, &n.Filter); out.Network == nil {
		subnets = subnets[:min(1, len(subnets))] // only the first subnet, because Machine API makes a port for each subnet
	}
	for i := range subnets {
		out.Subnets = append(out.Subnets, *subnetTo(p, &subnets[i]))
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&out)
	if err != nil || len(p.Errors()) > 0 || len(subnets) > mostSubnets {
		return nil
	}
	place := map[string]any{}
	for _, name := range []string{"network", "subnets"} {
		if value, has := content[name]; has {
			place[name] = value
		}
	}
	if len(place) == 0 {
		return nil
	}
	return place
}
