// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// This file reads the values that the AzureCluster and the Infrastructure have once, for all machines of the cluster.

// subscription returns the ID of the subscription in which Cluster API acts. This is the AzureCluster's or, if it names none, that of the Machine's own
// instance or of the cloud provider's configuration. It is "" if none of them has an ID. OpenShift's operator writes AzureClusters without a subscription,
// and the provider's webhook does not let anyone add it later.
func subscription(p *pass) string {
	id, _ := p.Env.InfraClusterString("spec", "subscriptionID")
	return first(id, account(p.Core.ProviderID), p.Env.Account)
}

// unknownSubscription returns the end of a message for a cluster in which the subscription is unknown: where Poundlock looked for it, and the command that
// sets it. The text is the same with and without an AzureCluster, because the difference would not help the reader.
func unknownSubscription(p *pass) string {
	return ", but the cluster's subscription is unknown: neither the AzureCluster (spec.subscriptionID), nor the instance's ID, nor ConfigMap " +
		"openshift-config/cloud-provider-config has it. The provider accepts spec.subscriptionID only when the AzureCluster is created. So replace the " +
		"AzureCluster, with the id that az account show prints in the place of SUBSCRIPTION: " + p.Replacement(`{"spec":{"subscriptionID":"SUBSCRIPTION"}}`)
}

// account returns the subscription's ID from a text, which is either an instance's ID or the configuration of Azure's cloud provider; "" if it has none.
func account(text string) string {
	if rest, ok := strings.CutPrefix(text, scheme+"/"); ok {
		words := strings.Split(rest, "/")
		if len(words) > 2 && strings.EqualFold(words[0], "subscriptions") {
			return words[1]
		}
		return ""
	}
	var config struct {
		SubscriptionID string `json:"subscriptionId"`
	}
	if yaml.Unmarshal([]byte(text), &config) != nil {
		return ""
	}
	return config.SubscriptionID
}

// resourceGroup returns the resource group in which Cluster API creates a machine: the AzureCluster's or, if it names none, the Infrastructure's.
func resourceGroup(p *pass) string {
	group, _ := p.Env.InfraClusterString("spec", "resourceGroup")
	return first(group, p.Env.PlatformStatus("resourceGroupName"))
}

// networkResourceGroup returns the resource group in which Cluster API looks for the network. If the AzureCluster names none for the network, this is the
// AzureCluster's resourceGroup, which its webhook fills in. If there is no AzureCluster, it is the Infrastructure's.
func networkResourceGroup(p *pass) string {
	if p.Env.InfraCluster == nil {
		return first(p.Env.PlatformStatus("networkResourceGroupName"), resourceGroup(p))
	}
	group, _ := p.Env.InfraClusterString("spec", "networkSpec", "vnet", "resourceGroup")
	return first(group, resourceGroup(p))
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// agrees reports an error if a value (have) is set and differs from the cluster's value (want). where describes the cluster's value. Case is ignored, as in
// Azure's names.
func agrees(p *pass, path, have, where, want string) {
	switch {
	case have == "" || strings.EqualFold(have, want):
	case want == "":
		p.Unsupported(path, have, fmt.Sprintf(
			"cannot be compared with %s, which is unknown, because neither the Infrastructure nor an AzureCluster has it. Set it in the AzureCluster", where))
	default:
		p.Differs(path, have, where, want)
	}
}

const publicCloud = "AzurePublicCloud"

// clouds lists the clouds that Cluster API's provider supports.
var clouds = []string{"AzureChinaCloud", publicCloud, "AzureUSGovernmentCloud"}

// sameCloud reports an error if the two APIs would create machines in different clouds or subscriptions, or if Cluster API would create them in an extended
// location. The errors are about the AzureCluster, because a machine has no fields for these.
func sameCloud(p *pass) {
	if edge, _ := p.Env.InfraClusterString("spec", "extendedLocation", "name"); edge != "" {
		p.Under("AzureCluster").Unsupported("spec.extendedLocation", edge, "Machine API creates no machines in an extended location, so no machine of this "+
			"cluster can move: leave the present API authoritative for each machine")
	}
	own, other := first(account(p.Core.ProviderID), p.Env.Account), subscription(p)
	if own != "" && !strings.EqualFold(own, other) { // other is the AzureCluster's here: without it, own and other would be equal
		p.Replace("spec.subscriptionID", other, "Machine API acts in subscription "+own+", but Cluster API would look for the machines in the "+
			"subscription that the AzureCluster names",
			fmt.Sprintf(`{"spec":{"subscriptionID":%q}}`, own))
	}
	if p.Env.InfraCluster == nil || p.Env.Infrastructure == nil {
		return
	}
	have := first(p.Env.PlatformStatus("cloudName"), publicCloud)
	there, _ := p.Env.InfraClusterString("spec", "azureEnvironment")
	switch want := first(there, publicCloud); {
	case !slices.Contains(clouds, have):
		p.Under("AzureCluster").Unsupported("spec.azureEnvironment", have,
			fmt.Sprintf("The cluster is in %s, and Cluster API's provider supports only AzureChinaCloud, AzurePublicCloud and AzureUSGovernmentCloud: "+
				"leave Machine API authoritative for the machines", have))
	case have != want:
		p.Replace("spec.azureEnvironment", want, fmt.Sprintf("The AzureCluster must name the cloud of the cluster, which is %s", have),
			fmt.Sprintf(`{"spec":{"azureEnvironment":%q}}`, have))
	}
}

func locationTo(p *pass, m *providerSpec, _ *infraSpec) {
	sameCloud(p)
	want, _ := p.Env.InfraClusterString("spec", "location")
	if region(m.Location) != region(want) {
		agrees(p, "location", m.Location, "the AzureCluster's spec.location", want)
	}
}

func locationFrom(p *pass, _ *infraSpec, m *providerSpec) {
	sameCloud(p)
	m.Location, _ = p.Env.InfraClusterString("spec", "location")
}

// region returns a region's name as Azure's API writes it: "westus" for "West US", which people also write.
func region(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "")) }

func groupTo(p *pass, m *providerSpec, _ *infraSpec) {
	have := first(m.ResourceGroup, p.Env.PlatformStatus("resourceGroupName"))
	agrees(p, "resourceGroup", have, "the cluster's resource group", resourceGroup(p))
}

func groupFrom(p *pass, _ *infraSpec, m *providerSpec) { m.ResourceGroup = resourceGroup(p) }

func networkGroupTo(p *pass, m *providerSpec, _ *infraSpec) {
	have := first(m.NetworkResourceGroup, p.Env.PlatformStatus("resourceGroupName"))
	agrees(p, "networkResourceGroup", have, "the resource group of the cluster's network", networkResourceGroup(p))
}

func networkGroupFrom(p *pass, _ *infraSpec, m *providerSpec) {
	m.NetworkResourceGroup = networkResourceGroup(p)
}

func vnetTo(p *pass, m *providerSpec, _ *infraSpec) {
	if m.Vnet == "" {
		p.Required("vnet", "Machine API creates no machine without a network: name the cluster's network")
	}
	agrees(p, "vnet", m.Vnet, "the AzureCluster's spec.networkSpec.vnet.name", network(p))
}

func vnetFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if m.Vnet = network(p); m.Vnet == "" {
		p.Under("AzureCluster").Required("spec.networkSpec.vnet.name",
			"Machine API creates no machine without the network's name: set this field to the name of the cluster's virtual network")
	}
}

func network(p *pass) string {
	name, _ := p.Env.InfraClusterString("spec", "networkSpec", "vnet", "name")
	return name
}

// balancer returns the name of the AzureCluster's load balancer in one field (which) of spec.networkSpec, such as apiServerLB; "" if there is none.
func balancer(p *pass, which string) string {
	name, _ := p.Env.InfraClusterString("spec", "networkSpec", which, "name")
	return name
}

// privateAPI reports whether the API server's load balancer is internal. If it is public, Cluster API also uses it for the outbound traffic of the control
// plane.
func privateAPI(p *pass) bool {
	kind, _ := p.Env.InfraClusterString("spec", "networkSpec", "apiServerLB", "type")
	return kind == "Internal"
}

// subnet is one of the AzureCluster's subnets.
type subnet struct{ name, role, securityGroup, natGateway string }

// subnets returns the AzureCluster's subnets. An item that is not a subnet becomes an empty subnet.
func subnets(p *pass) []subnet {
	list, _, _ := unstructured.NestedFieldNoCopy(p.Env.InfraCluster, "spec", "networkSpec", "subnets")
	items, _ := list.([]any)
	var out []subnet
	for _, item := range items {
		fields, _ := item.(map[string]any)
		text := func(path ...string) string {
			value, _, _ := unstructured.NestedString(fields, path...)
			return value
		}
		out = append(out, subnet{text("name"), text("role"), text("securityGroup", "name"), text("natGateway", "name")})
	}
	return out
}

func subnetNamed(p *pass, name string) subnet {
	for _, s := range subnets(p) {
		if s.name == name {
			return s
		}
	}
	return subnet{}
}

// onlySubnet returns the name of the subnet that Cluster API uses for a machine that names none. This is the AzureCluster's only subnet for the machine's
// role. If there is none for this role, it is the last subnet for both roles. The result is "" if Cluster API would fail.
func onlySubnet(p *pass) string {
	role := "node"
	if p.Core.ControlPlane {
		role = "control-plane"
	}
	var own []string
	shared := ""
	for _, s := range subnets(p) {
		switch s.role {
		case role:
			own = append(own, s.name)
		case "cluster":
			shared = s.name
		}
	}
	switch len(own) {
	case 0:
		return shared
	case 1:
		return own[0]
	}
	return ""
}

// resourceTags returns the Infrastructure's resourceTags, which Machine API adds to each machine.
func resourceTags(p *pass) map[string]string {
	list, _, _ := unstructured.NestedFieldNoCopy(p.Env.Infrastructure, "status", "platformStatus", "azure", "resourceTags")
	items, _ := list.([]any)
	out := map[string]string{}
	for _, item := range items {
		fields, _ := item.(map[string]any)
		key, _, _ := unstructured.NestedString(fields, "key")
		out[key], _, _ = unstructured.NestedString(fields, "value")
	}
	return out
}

// clusterTags returns the AzureCluster's additionalTags, which Cluster API adds to each machine.
func clusterTags(p *pass) map[string]string {
	tags, _, _ := unstructured.NestedStringMap(p.Env.InfraCluster, "spec", "additionalTags")
	return tags
}
