// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

func tagsTo(p *pass, m *providerSpec, c *infraSpec) {
	all := withOwnerTag(p, m.Tags)
	for name, value := range m.Tags {
		if all[name] != value {
			p.Note("tags["+name+"]", "Machine API ignores this value, because it always sets the tag "+ownerTag(p)+" to "+owned)
		}
	}
	replaced(p, "tags", m.Tags)
	for name, value := range derivedTags(p) {
		if isName(name) {
			p.Note("tags["+name+"]", "the Infrastructure's resourceTags have this tag, but Cluster API gives each virtual machine a tag Name with the virtual "+
				"machine's name")
			continue
		}
		if !named(all, name) {
			if all == nil {
				all = map[string]string{}
			}
			all[name] = value
		}
	}
	checked := maps.Clone(m.Tags)
	for name := range checked {
		if p.Env.Infrastructure != nil && strings.EqualFold(name, ownerTag(p)) {
			checked[name] = owned // Machine API ignores the value, however long
		}
	}
	checkTags(p, "tags", checked, all)
	inherits(p, "tags", all)
	otherCase(p, "tags", all)
	c.AdditionalTags = all
}

// tagsFrom writes the AzureMachine's tags to the providerSpec, except for tags that Machine API adds by itself. It also writes the tags that only the
// AzureCluster has. For a control plane Machine such a tag is an error instead.
func tagsFrom(p *pass, c *infraSpec, m *providerSpec) {
	checkTags(p, "additionalTags", c.AdditionalTags, c.AdditionalTags)
	otherCase(p, "additionalTags", c.AdditionalTags)
	derived := derivedTags(p)
	for _, name := range slices.Sorted(maps.Keys(c.AdditionalTags)) {
		value := c.AdditionalTags[name]
		if p.Env.Infrastructure != nil && strings.EqualFold(name, ownerTag(p)) && value != owned {
			p.Differs("additionalTags["+name+"]", value, "the value that Machine API sets for this tag on every virtual machine", owned)
		}
	}
	own := maps.Clone(c.AdditionalTags)
	maps.DeleteFunc(own, func(name, value string) bool { text, is := derived[name]; return is && text == value })
	replaced(p, "additionalTags", own)
	if p.Core.ControlPlane {
		inherits(p, "additionalTags", c.AdditionalTags)
	} else {
		for name, value := range clusterAlone(p, c.AdditionalTags) {
			if own == nil {
				own = map[string]string{}
			}
			own[name] = value
		}
	}
	if m.Tags = own; len(own) == 0 {
		m.Tags = nil
	}
}

// owned is the value of the tag by which an uninstall finds what belongs to the cluster.
const owned = "owned"

func ownerTag(p *pass) string { return "kubernetes.io_cluster." + p.Env.ClusterName }

// withOwnerTag returns a copy of tags in which the cluster's own tag, if tags has it, has the value that Machine API always gives it. Machine API ignores
// another value.
func withOwnerTag(p *pass, tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	if p.Env.Infrastructure == nil || !named(tags, ownerTag(p)) {
		return out
	}
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.EqualFold(name, ownerTag(p)) })
	out[ownerTag(p)] = owned
	return out
}

// derivedTags returns the tags that Machine API adds to each virtual machine: the tag by which an uninstall finds what belongs to the cluster, and the
// Infrastructure's resourceTags. It leaves out tags that Cluster API adds too, because the AzureCluster has them with the same value.
func derivedTags(p *pass) map[string]string {
	out := map[string]string{}
	if p.Env.Infrastructure == nil {
		return out
	}
	maps.Copy(out, withOwnerTag(p, resourceTags(p)))
	out[ownerTag(p)] = owned
	theirs := clusterTags(p)
	maps.DeleteFunc(out, func(name, value string) bool { have, is := theirs[name]; return name == "" || is && have == value })
	return out
}

// named reports whether tags has a tag of this name. It ignores case, as Azure does in names.
func named(tags map[string]string, name string) bool {
	for have := range tags {
		if strings.EqualFold(have, name) {
			return true
		}
	}
	return false
}

// maxTags is Azure's maximum number of tags for one resource.
const maxTags = 50

// checkTags reports an error for each tag at a path that Azure or Cluster API would refuse, and one if a machine would have too many tags. all are the tags
// that the machine would have from its own object. Cluster API adds no tags to an instance that exists and that Machine API created.
func checkTags(p *pass, path string, tags, all map[string]string) {
	n, with := len(withCluster(p, all)), "together with the tags that Cluster API adds, "
	if exists(p) {
		n, with = len(all), ""
	}
	if n > maxTags {
		p.Unsupported(path, len(tags), fmt.Sprintf("%sthe machine has %d tags, and Azure accepts at most %d: remove some", with, n, maxTags))
	}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if reason := badTag(p, name, tags[name], seen); reason != "" {
			p.Invalid(path+"["+name+"]", tags[name], reason)
		}
		seen[strings.ToLower(name)] = name
	}
}

// withCluster returns tags together with the tags that Cluster API's controller adds to a machine. It is for counting: some of the added tags have no value
// in the result.
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
		return fmt.Sprintf("Azure ignores case in the names of tags, so this tag is the same as %q: remove one of the two", other)
	case name == "" || len(name) > 512:
		return "the name of a tag has 1 to 512 characters"
	case strings.ContainsAny(name, "<>%&\\?/"):
		return "Azure accepts none of the characters < > % & \\ ? / in the name of a tag"
	case len(value) > 256:
		return "the value of a tag has at most 256 characters"
	case strings.HasPrefix(name, azurev1.NameAzureProviderPrefix):
		return "only Cluster API itself sets tags whose names begin with " + azurev1.NameAzureProviderPrefix + ": remove this tag"
	case name == cloudTag(p) && value != string(azurev1.ResourceLifecycleOwned):
		return "Cluster API always sets this tag to owned: set it to owned"
	}
	return ""
}

// inherits reports an error for each tag that a machine gets only from the AzureCluster.
func inherits(p *pass, path string, own map[string]string) {
	alone := clusterAlone(p, own)
	for _, name := range slices.Sorted(maps.Keys(alone)) {
		here := "set the same entry in this object, or "
		if isName(name) {
			here = ""
		}
		p.Inherits(path, "additionalTags", name, alone[name], here,
			map[string]any{"spec": map[string]any{"additionalTags": map[string]any{name: nil}}})
	}
}

// clusterAlone returns the tags that a machine gets only from the AzureCluster: neither the machine's own spec (own) nor the Infrastructure has them. It
// leaves out tags that only mark ownership, and the tag Name, which Cluster API replaces.
func clusterAlone(p *pass, own map[string]string) map[string]string {
	if p.Env.Infrastructure == nil || p.Env.InfraCluster == nil {
		return nil
	}
	mapi, out := resourceTags(p), clusterTags(p)
	maps.DeleteFunc(out, func(name, value string) bool {
		have, is := mapi[name]
		return named(own, name) || marksOwner(name) || name == nameTag || is && have == value
	})
	return out
}

// nameTag is the tag that Cluster API's controller gives each new virtual machine. The value is the virtual machine's name.
const nameTag = "Name"

func isName(tag string) bool { return strings.EqualFold(tag, nameTag) }

// replaced reports an error for a tag Name of a machine that has no instance yet. Cluster API's controller would replace the value. If the name is written in
// another case, the controller would send both tags to Azure, which refuses the machine. The controller does not change the tags of an existing instance that
// Machine API created.
func replaced(p *pass, path string, own map[string]string) {
	if exists(p) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if isName(name) {
			p.Unsupported(path+"["+name+"]", own[name], "Cluster API gives each new virtual machine the tag Name with the virtual machine's name, and Azure "+
				"ignores case in the names of tags: remove this tag, or give it another name")
		}
	}
}

// otherCase reports an error for each of a machine's tags that the AzureCluster has in another case. Cluster API's controller sends both to Azure, which
// refuses the machine.
func otherCase(p *pass, path string, own map[string]string) {
	if p.Env.Infrastructure == nil || p.Env.InfraCluster == nil {
		return
	}
	lower := make(map[string]string, len(own))
	for name := range own {
		lower[strings.ToLower(name)] = name
	}
	theirs := clusterTags(p)
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		have, is := lower[strings.ToLower(name)]
		if _, same := own[name]; same || !is || marksOwner(name) {
			continue
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"additionalTags": map[string]any{name: nil}}})
		if err != nil {
			p.Add(field.InternalError(field.NewPath(path), err))
			continue
		}
		here := "write the name as the AzureCluster does, or "
		if strings.EqualFold(name, ownerTag(p)) { // which Machine API always writes in its own case
			here = ""
		}
		p.Command(path+"["+have+"]", own[have], fmt.Sprintf("the AzureCluster has the tag %q, and Azure ignores case in the names of tags: %sremove the tag from "+
			"the AzureCluster, for all Machines of the cluster", name, here),
			fmt.Sprintf("kubectl patch %s --type=merge -p %s", p.InfraCluster(), conversion.Quoted(string(patch))), "Make the change by hand: kubectl edit "+
				p.InfraCluster())
	}
}

// marksOwner reports whether a tag of this name only marks a resource's owner. Each API has its own such tags.
func marksOwner(name string) bool {
	return strings.HasPrefix(name, "kubernetes.io_cluster") || strings.HasPrefix(name, "kubernetes.io-cluster") ||
		strings.HasPrefix(name, azurev1.NameAzureProviderPrefix)
}
