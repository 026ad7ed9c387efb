// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// owned is the value of the label by which the installer and Cluster API find what belongs to a cluster.
const owned = "owned"

func clusterLabel(p *pass) string { return "kubernetes-io-cluster-" + p.Env.ClusterName }

func labelsTo(p *pass, m *providerSpec, c *infraSpec) {
	c.AdditionalLabels = labels(p, "labels", m.Labels)
	inherits(p, "labels", c.AdditionalLabels)
}

// inherits reports an error for each label that a new instance gets only from the GCPCluster.
func inherits(p *pass, path string, own map[string]string) {
	alone := clusterAlone(p, own)
	for _, name := range sortedKeys(alone) {
		p.Inherits(path, "additionalLabels", name, alone[name], "set the same entry in this object, or ",
			map[string]any{"spec": map[string]any{"additionalLabels": map[string]any{name: nil}}})
	}
}

func labelsFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.Labels = labels(p, "additionalLabels", c.AdditionalLabels)
	if p.Core.ControlPlane {
		inherits(p, "additionalLabels", m.Labels)
		return
	}
	maps.Copy(m.Labels, clusterAlone(p, m.Labels))
}

// labels returns the given labels together with the labels that Machine API's controllers add to every instance. It reports an error for a label whose value
// a controller of one of the APIs would replace.
func labels(p *pass, path string, given map[string]string) map[string]string {
	fixed := fixedLabels(p)
	for _, k := range sortedKeys(given) {
		at, v := path+"["+k+"]", given[k]
		switch want, is := fixed[k]; {
		case is && v != want.value:
			p.Differs(at, v, "what "+want.by+" gives every instance", want.value)
		case strings.ContainsFunc(k+v, unicode.IsUpper):
			p.Invalid(at, v, "Google Cloud accepts no capital letters in the key or value of a label: use small letters")
		}
	}
	return instanceLabels(p, given)
}

// clusterAlone returns the labels that a new instance gets only from the GCPCluster: neither the instance's own spec (own) nor a controller sets them. For a
// Machine that has an instance the result is empty, because Cluster API does not change the labels of an existing instance.
func clusterAlone(p *pass, own map[string]string) map[string]string {
	if exists(p) {
		return nil
	}
	out, _, _ := unstructured.NestedStringMap(p.Env.InfraCluster, "spec", "additionalLabels")
	maps.DeleteFunc(out, func(name, _ string) bool {
		_, here := own[name]
		_, fixed := fixedLabels(p)[name]
		return here || fixed
	})
	return out
}

// exists reports whether a Machine has an instance. That matters because Cluster API gives labels and tags only to new instances.
func exists(p *pass) bool { return p.Core.ProviderID != "" && !p.Core.Template }

// inheritsTags reports an error for each resource manager tag that a new instance gets only from the GCPCluster. The patch in the message removes all these
// tags. It contains the rest of the GCPCluster's list, because a merge patch replaces a list: with a patch for each tag, a second patch would add the tag again
// that the first has removed.
func inheritsTags(p *pass, own gcpv1.ResourceManagerTags) {
	theirs, _, _ := unstructured.NestedSlice(p.Env.InfraCluster, "spec", "resourceManagerTags")
	if len(theirs) > mostTags && !exists(p) { // with a patch for each tag, the time would grow with the square of their number
		p.Unsupported("resourceManagerTags", len(theirs), fmt.Sprintf("an instance can have at most %d resource manager tags, and Cluster API gives it the %d "+
			"tags of spec.resourceManagerTags of the GCPCluster: remove some there", mostTags, len(theirs)))
		return
	}
	var alone []any
	rest := []any{}
	for _, item := range theirs {
		if key, _ := tagOf(item); hasTag(own, key) || exists(p) {
			rest = append(rest, item)
		} else {
			alone = append(alone, item)
		}
	}
	here := "set the same entry in this object, or "
	if len(alone) > 1 {
		here = "set the same entry in this object, or, together with the other such entries, "
	}
	for _, item := range alone {
		key, value := tagOf(item)
		p.Inherits("resourceManagerTags", "resourceManagerTags", key, value, here,
			map[string]any{"spec": map[string]any{"resourceManagerTags": rest}})
	}
}

func tagOf(item any) (key, value string) {
	tag, _ := item.(map[string]any)
	key, _, _ = unstructured.NestedString(tag, "key")
	value, _, _ = unstructured.NestedString(tag, "value")
	return key, value
}

// instanceLabels returns the labels that Machine API gives to an instance: the given ones, the Infrastructure's resourceLabels and the cluster's label. It
// leaves out a resourceLabel whose value a controller of one of the APIs would replace.
func instanceLabels(p *pass, given map[string]string) map[string]string {
	out := map[string]string{}
	fixed := fixedLabels(p)
	for _, l := range listed(p, "resourceLabels") {
		if want, is := fixed[l["key"]]; is && want.value != l["value"] {
			p.Note("labels["+l["key"]+"]", "the Infrastructure's resourceLabels have another value, but "+want.by+" always sets this label to "+want.value)
			continue
		}
		out[l["key"]] = l["value"]
	}
	maps.Copy(out, given)
	out[clusterLabel(p)] = owned
	return out
}

type fixedLabel struct{ value, by string }

// fixedLabels returns the labels that controllers of either API set on each instance. They replace the machine's own labels of these names.
func fixedLabels(p *pass) map[string]fixedLabel {
	role := "node"
	if p.Core.ControlPlane {
		role = "control-plane"
	}
	return map[string]fixedLabel{
		clusterLabel(p):                        {owned, "Machine API"},
		gcpv1.ClusterTagKey(p.Env.ClusterName): {owned, "Cluster API"},
		gcpv1.NameGCPClusterAPIRole:            {role, "Cluster API"},
	}
}

// listed returns the entries of a list in the Infrastructure's status.platformStatus.gcp, such as resourceLabels. It leaves out entries without a key. The
// installer writes such a list once, for everything that the cluster creates.
func listed(p *pass, name string) []map[string]string {
	list, _, _ := unstructured.NestedSlice(p.Env.Infrastructure, "status", "platformStatus", "gcp", name)
	var out []map[string]string
	for _, item := range list {
		entry, value := map[string]string{}, map[string]any{}
		if m, ok := item.(map[string]any); ok {
			value = m
		}
		for k, v := range value {
			entry[k], _ = v.(string)
		}
		if entry["key"] != "" {
			out = append(out, entry)
		}
	}
	return out
}

func resourceTagsTo(p *pass, m *providerSpec, c *infraSpec) {
	for i, t := range m.ResourceManagerTags {
		checkTag(p, "resourceManagerTags", i, t.ParentID, t.Key, t.Value)
		c.ResourceManagerTags = append(c.ResourceManagerTags, gcpv1.ResourceManagerTag{ParentID: t.ParentID, Key: t.Key, Value: t.Value})
	}
	for _, t := range listed(p, "resourceTags") {
		if !hasTag(c.ResourceManagerTags, t["key"]) {
			c.ResourceManagerTags = append(c.ResourceManagerTags, gcpv1.ResourceManagerTag{ParentID: t["parentID"], Key: t["key"], Value: t["value"]})
		}
	}
	uniqueTags(p, c.ResourceManagerTags)
	inheritsTags(p, c.ResourceManagerTags)
}

// resourceTagsFrom converts resource manager tags. It reports an error if the GCPMachine lacks one of the Infrastructure's tags. It cannot add the missing
// tag to the providerSpec, because the tag would then be converted into the GCPMachine, which is immutable.
func resourceTagsFrom(p *pass, c *infraSpec, m *providerSpec) {
	for i, t := range c.ResourceManagerTags {
		checkTag(p, "resourceManagerTags", i, t.ParentID, t.Key, t.Value)
		m.ResourceManagerTags = append(m.ResourceManagerTags, machinev1beta1.ResourceManagerTag{ParentID: t.ParentID, Key: t.Key, Value: t.Value})
	}
	uniqueTags(p, c.ResourceManagerTags)
	inheritsTags(p, c.ResourceManagerTags)
	for _, t := range listed(p, "resourceTags") {
		if !hasTag(c.ResourceManagerTags, t["key"]) {
			p.Required("resourceManagerTags", fmt.Sprintf("Machine API gives every instance the tag %s/%s=%s, which the Infrastructure lists: add this tag",
				t["parentID"], t["key"], t["value"]))
		}
	}
}

func hasTag(tags gcpv1.ResourceManagerTags, key string) bool {
	return slices.ContainsFunc(tags, func(t gcpv1.ResourceManagerTag) bool { return t.Key == key })
}

const mostTags = 50

func uniqueTags(p *pass, tags gcpv1.ResourceManagerTags) {
	if len(tags) > mostTags {
		p.Unsupported("resourceManagerTags", len(tags), fmt.Sprintf(
			"an instance can have at most %d resource manager tags, including those of the Infrastructure: remove some", mostTags))
	}
	seen := map[string]bool{}
	for i, t := range tags {
		if seen[t.Key] {
			p.Invalid(fmt.Sprintf("resourceManagerTags[%d].key", i), t.Key,
				"two tags have this key, and Machine API distinguishes tags only by their keys: remove one of the two")
		}
		seen[t.Key] = true
	}
}

// checkTag reports an error for a resource manager tag that Cluster API's CRD would refuse. Machine API's CRD cannot check it, because a providerSpec is
// opaque to that CRD.
func checkTag(p *pass, list string, i int, parent, key, value string) {
	at := p.At(fmt.Sprintf("%s[%d]", list, i))
	if !parentID.MatchString(parent) {
		at.Invalid("parentID", parent, "must be the number of an organization or the ID of a project")
	}
	if !tagKey.MatchString(key) {
		at.Invalid("key", key, "must have 1 to 63 characters: letters, digits and ._-. The first and the last must be a letter or digit")
	}
	if !tagValue.MatchString(value) {
		at.Invalid("value", value,
			"must have 1 to 63 characters: letters, digits, spaces and _.@%=+:,*#&()[]{}-. The first must be a letter or digit, and so must the last")
	}
}

// userDataKey is the metadata key with which both APIs pass the user data to the instance.
const userDataKey = "user-data"

func metadataTo(p *pass, m *providerSpec, c *infraSpec) {
	unique := metadataKeys(p, "gcpMetadata")
	for i, d := range m.Metadata {
		if d == nil {
			p.Invalid(fmt.Sprintf("gcpMetadata[%d]", i), nil, isNull)
			continue
		}
		unique(i, d.Key)
		c.AdditionalMetadata = append(c.AdditionalMetadata, gcpv1.MetadataItem{Key: d.Key, Value: d.Value})
	}
}

func metadataFrom(p *pass, c *infraSpec, m *providerSpec) {
	unique := metadataKeys(p, "additionalMetadata")
	for i, d := range c.AdditionalMetadata {
		unique(i, d.Key)
		m.Metadata = append(m.Metadata, &machinev1beta1.GCPMetadata{Key: d.Key, Value: d.Value})
	}
}

// metadataKeys returns a function that must be called for each key of a list of metadata, in order. The function reports an error if the key is empty, has
// occurred before, or is the key of the user data.
func metadataKeys(p *pass, list string) func(i int, key string) {
	seen := map[string]bool{}
	return func(i int, key string) {
		path := fmt.Sprintf("%s[%d].key", list, i)
		switch {
		case key == "":
			p.Required(path, "an entry of the metadata needs a key: set the key")
		case key == userDataKey:
			p.Unsupported(path, key, "both APIs pass the machine's user data under this key, and Google accepts each key only once: remove this entry")
		case seen[key]:
			p.Invalid(path, key, "the key is listed twice: remove one of the two entries")
		}
		seen[key] = true
	}
}
