// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"
)

func tagsTo(p *pass, m *providerSpec, c *infraSpec) {
	checkTags(p, "tags", m.Tags)
	c.AdditionalTags = m.Tags
}

func tagsFrom(p *pass, c *infraSpec, m *providerSpec) {
	checkTags(p, "additionalTags", c.AdditionalTags)
	m.Tags = c.AdditionalTags
}

// maxTags is Azure's, for one resource.
const maxTags = 50

func checkTags(p *pass, path string, tags map[string]string) {
	if n := len(withCluster(p, tags)); n > maxTags {
		p.Unsupported(path, len(tags), fmt.Sprintf("with those that Cluster API adds they are %d tags, and Azure takes %d", n, maxTags))
	}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if reason := badTag(p, name, tags[name], seen); reason != "" {
			p.Invalid(path+"["+name+"]", tags[name], reason)
		}
		seen[strings.ToLower(name)] = name
	}
	inherited(p, path, tags)
}

// withCluster adds the tags that Cluster API's controller adds to a machine.
func withCluster(p *pass, tags map[string]string) map[string]string {
	all := map[string]string{"Name": "", azurev1.NameAzureClusterAPIRole: "", azurev1.ClusterTagKey(p.Env.ClusterName): "", cloudTag(p): ""}
	maps.Copy(all, clusterTags(p))
	maps.Copy(all, tags)
	return all
}

func cloudTag(p *pass) string { return azurev1.ClusterAzureCloudProviderTagKey(p.Env.ClusterName) }

func badTag(p *pass, name, value string, seen map[string]string) string {
	switch other, twice := seen[strings.ToLower(name)]; {
	case twice:
		return fmt.Sprintf("in Azure it is the same tag as %q: names are the same in whatever case", other)
	case name == "" || len(name) > 512:
		return "the name of a tag has 1 to 512 characters"
	case strings.ContainsAny(name, "<>%&\\?/"):
		return "Azure takes none of < > % & \\ ? / in the name of a tag"
	case len(value) > 256:
		return "the value of a tag has at most 256 characters"
	case strings.HasPrefix(name, azurev1.NameAzureProviderPrefix):
		return "tags that begin with " + azurev1.NameAzureProviderPrefix + " are Cluster API's own"
	case name == cloudTag(p) && value != string(azurev1.ResourceLifecycleOwned):
		return "Cluster API always sets it to owned"
	}
	return ""
}

// inherited reports the tags that a machine gets from its cluster under one API and not, or otherwise, under the other.
func inherited(p *pass, path string, own map[string]string) {
	if p.Env.Infrastructure == nil || p.Env.InfraCluster == nil {
		return
	}
	mapi, capi := resourceTags(p), clusterTags(p)
	all := maps.Clone(mapi)
	maps.Copy(all, capi)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, named := own[name]; named || marksOwner(name) || say(mapi, name) == say(capi, name) {
			continue
		}
		p.Unsupported(path+"["+name+"]", nil, fmt.Sprintf("the Infrastructure's resourceTags, which Machine API adds to each machine, have %s, and the AzureCluster's additionalTags, which Cluster API adds, have %s: make them the same, or name the tag here",
			say(mapi, name), say(capi, name)))
	}
}

func say(tags map[string]string, name string) string {
	if value, ok := tags[name]; ok {
		return fmt.Sprintf("%q", value)
	}
	return "none"
}

// marksOwner tells a tag that only says whose a resource is; each API has its own.
func marksOwner(name string) bool {
	return strings.HasPrefix(name, "kubernetes.io_cluster") || strings.HasPrefix(name, "kubernetes.io-cluster") || strings.HasPrefix(name, azurev1.NameAzureProviderPrefix)
}
