// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
)

func nothing(*pass, *providerSpec, *infraSpec)     {}
func nothingBack(*pass, *infraSpec, *providerSpec) {}

// text returns the string behind a pointer, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func cloudTo(p *pass, m *providerSpec, c *infraSpec) {
	secret, cloud := corev1.SecretReference{}, m.CloudName
	if m.CloudsSecret != nil {
		secret = *m.CloudsSecret
	}
	p.OwnNamespace("cloudsSecret.namespace", secret.Namespace)
	switch {
	case secret.Name == "":
		p.Required("cloudsSecret.name", "name the Secret that contains clouds.yaml, because Machine API creates no server without it")
	case cloud == "":
		p.Required("cloudName", "name the cloud in clouds.yaml, because Machine API creates no server without it")
	case secret.Name != clusterSecret(p) || cloud != clusterCloud(p):
		c.IdentityRef = &openstackv1.OpenStackIdentityReference{Type: secretKind, Name: secret.Name, CloudName: cloud}
	}
}

func cloudFrom(p *pass, c *infraSpec, m *providerSpec) {
	name, cloud := clusterSecret(p), clusterCloud(p)
	if ref := c.IdentityRef; ref != nil {
		if ref.Type != secretKind && ref.Type != "" {
			p.Unsupported("identityRef.type", ref.Type, "Machine API takes its credentials only from a Secret: set identityRef.type to Secret")
		}
		if name, cloud = ref.Name, ref.CloudName; name == "" || cloud == "" {
			p.Required("identityRef", "identityRef needs a name and a cloudName: set both, or leave identityRef out")
		}
	} else if name == "" {
		p.Required("identityRef", "without identityRef, Cluster API uses the OpenStackCluster's identityRef, which is not a Secret, but Machine API needs "+
			"a Secret: name a Secret and its cloud in identityRef")
	}
	m.CloudsSecret = &corev1.SecretReference{Name: name, Namespace: p.Env.MachineAPINamespace}
	m.CloudName = cloud
}

// secretKind is the type of an identityRef to a Secret. It is the CRD's default.
const secretKind = "Secret"

// clusterSecret returns the name of the Secret that Cluster API uses for a machine without an identityRef. That is the OpenStackCluster's Secret, whose cloud
// may be another project. The result is "" if the OpenStackCluster's credentials are not in a Secret, so that Machine API cannot name them.
func clusterSecret(p *pass) string {
	if kind, _ := p.Env.InfraClusterString("spec", "identityRef", "type"); kind != "" && kind != secretKind {
		return ""
	}
	if name, _ := p.Env.InfraClusterString("spec", "identityRef", "name"); name != "" {
		return name
	}
	return p.Env.Credentials()
}

func flavorTo(p *pass, m *providerSpec, c *infraSpec) {
	if m.Flavor == "" {
		p.Required("flavor", "name the flavor")
		return
	}
	c.Flavor = &m.Flavor
}

func flavorFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.Flavor = text(c.Flavor)
	if m.Flavor == "" && c.FlavorID == nil {
		p.Required("flavor", "name the flavor")
	}
}

// imageTo converts the image. If there is a root volume with a source, it takes the source and ignores the image's name, because Machine API boots from the
// source.
func imageTo(p *pass, m *providerSpec, c *infraSpec) {
	name, source := m.Image, ""
	if m.RootVolume != nil {
		source = m.RootVolume.SourceUUID
	}
	if source != "" {
		name = source
	}
	if source != "" && m.Image != "" && m.Image != source {
		p.Note("image", "Machine API ignores image, because rootVolume.sourceUUID is given")
	}
	switch {
	case name == "":
		p.Required("image", "name the image")
	case isID(source):
		c.Image.ID = &source
	default:
		c.Image.Filter = &openstackv1.ImageFilter{Name: &name}
	}
}

func imageFrom(p *pass, c *infraSpec, m *providerSpec) {
	id, filter := text(c.Image.ID), c.Image.Filter
	if filter != nil {
		m.Image = text(filter.Name)
	}
	switch {
	case id != "" && m.Image != "":
		p.Invalid("image", nil, oneOf)
	case id != "" && c.RootVolume == nil:
		p.Unsupported("image.id", id, "without a root volume, Machine API finds an image only by its name: set image.filter.name, and remove image.id")
	case id != "":
		checkID(p, "image.id", id)
		rootVolume(m).SourceUUID = id
	case m.Image == "" && c.Image.ImageRef == nil && (filter == nil || len(filter.Tags) == 0):
		p.Required("image.filter.name", "name the image")
	}
}

// ownTags returns the tags that Machine API's controllers add to each server.
func ownTags(p *pass) []string {
	return []string{"cluster-api-provider-openstack", p.Env.MachineAPINamespace + "-" + p.Env.ClusterName}
}

// tagsTo converts the tags. In a template it also adds the tags that Machine API's controllers add to each server. It does not add them for a Machine: the
// Machine's server already has these tags, and an OpenStackMachine is immutable.
func tagsTo(p *pass, m *providerSpec, c *infraSpec) {
	if c.Tags = withClusters(p, m.Tags); p.Core.Template {
		c.Tags = withOwn(p, c.Tags)
	}
}

func withOwn(p *pass, tags []string) []string {
	for _, tag := range ownTags(p) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// tagsFrom is the reverse of tagsTo. It leaves out the tags that Machine API's controllers add, unless tagsTo would then write the tags in another order: an
// OpenStackMachineTemplate is immutable, and the order in the providerSpec is its owner's.
func tagsFrom(p *pass, c *infraSpec, m *providerSpec) {
	if m.Tags = withClusters(p, c.Tags); !p.Core.Template {
		return
	}
	users := slices.DeleteFunc(slices.Clone(m.Tags), func(tag string) bool { return slices.Contains(ownTags(p), tag) })
	if slices.Equal(withOwn(p, slices.Clone(users)), withOwn(p, slices.Clone(m.Tags))) {
		m.Tags = users
	}
}

// withClusters returns tags together with the OpenStackCluster's tags, which Cluster API would add by itself. The objects of both APIs list these tags, so
// that no move changes the tags of a server.
func withClusters(p *pass, tags []string) []string {
	seen := sets.New[string]()
	out := distinct(p, "tags", tags, seen)
	theirs, _, _ := unstructured.NestedStringSlice(p.Env.InfraCluster, "spec", "tags")
	for _, tag := range theirs {
		if !seen.Has(tag) {
			seen.Insert(tag)
			out = append(out, tag)
		}
	}
	return out
}

// distinct returns a copy of tags, and adds them to seen. It reports an error for a tag that is in seen already, or that occurs twice, because Cluster API
// treats tags as a set.
func distinct(p *pass, path string, tags []string, seen sets.Set[string]) []string {
	var out []string
	for i, tag := range tags {
		if seen.Has(tag) {
			p.Invalid(fmt.Sprintf("%s[%d]", path, i), tag, "the tag is listed twice: remove one of the two")
		}
		seen.Insert(tag)
		out = append(out, tag)
	}
	return out
}

// maxMetadata is Cluster API's maximum length of a key or value of the server's metadata.
const maxMetadata = 255

func metadataTo(p *pass, m *providerSpec, c *infraSpec) {
	for _, key := range slices.Sorted(maps.Keys(m.ServerMetadata)) {
		value := m.ServerMetadata[key]
		if utf8.RuneCountInString(key) > maxMetadata || utf8.RuneCountInString(value) > maxMetadata {
			p.Unsupported("serverMetadata["+key+"]", value, fmt.Sprintf(
				"Cluster API accepts keys and values of at most %d characters in a server's metadata: shorten the text, or remove the entry",
				maxMetadata))
		}
		c.ServerMetadata = append(c.ServerMetadata, openstackv1.ServerMetadata{Key: key, Value: value})
	}
}

func metadataFrom(p *pass, c *infraSpec, m *providerSpec) {
	for i, item := range c.ServerMetadata {
		if m.ServerMetadata == nil {
			m.ServerMetadata = map[string]string{}
		}
		if _, twice := m.ServerMetadata[item.Key]; twice {
			p.Invalid(fmt.Sprintf("serverMetadata[%d].key", i), item.Key, "the key is listed twice: remove one of the two entries")
		}
		m.ServerMetadata[item.Key] = item.Value
	}
}

// serverGroupTo converts the server group. If the providerSpec has both an ID and a name, it takes the ID, as Machine API does.
func serverGroupTo(p *pass, m *providerSpec, c *infraSpec) {
	switch id, name := m.ServerGroupID, m.ServerGroupName; {
	case id != "":
		if checkID(p, "serverGroupID", id); name != "" {
			p.Note("serverGroupName", "Machine API ignores serverGroupName, because serverGroupID is given")
		}
		c.ServerGroup = &openstackv1.ServerGroupParam{ID: &id}
	case name != "":
		c.ServerGroup = &openstackv1.ServerGroupParam{Filter: &openstackv1.ServerGroupFilter{Name: &name}}
	}
}

func serverGroupFrom(p *pass, c *infraSpec, m *providerSpec) {
	group := c.ServerGroup
	if group == nil {
		return
	}
	m.ServerGroupID = text(group.ID)
	if group.Filter != nil {
		m.ServerGroupName = text(group.Filter.Name)
	}
	if (m.ServerGroupID == "") == (m.ServerGroupName == "") {
		p.Invalid("serverGroup", nil, oneOf)
	}
	checkID(p, "serverGroup.id", m.ServerGroupID)
}

func providerIDTo(p *pass, _ *providerSpec, c *infraSpec) {
	if p.Core.ProviderID != "" {
		c.ProviderID = &p.Core.ProviderID
	}
}

func providerIDFrom(p *pass, c *infraSpec, _ *providerSpec) {
	id := text(c.ProviderID)
	switch {
	case p.Core.Template && id != "":
		p.Unsupported("providerID", id, "a template has no instance, and so no provider id: remove it")
	case p.Core.ProviderID == "":
		p.Core.ProviderID = id
	case id != "" && id != p.Core.ProviderID:
		p.Differs("providerID", id, "the Machine's spec.providerID", p.Core.ProviderID)
	}
}

// instanceID returns the last part of a provider ID, such as openstack://[region]/7d8a1f5e-…. It returns "" if the ID is not OpenStack's.
func instanceID(providerID string) string {
	if !strings.HasPrefix(providerID, "openstack://") {
		return ""
	}
	return providerID[strings.LastIndex(providerID, "/")+1:]
}

func userDataTo(p *pass, m *providerSpec, _ *infraSpec) {
	secret := ptr.Deref(m.UserDataSecret, corev1.SecretReference{})
	p.UserData(secret.Name)
	p.OwnNamespace("userDataSecret.namespace", secret.Namespace)
}

func userDataFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if secret := p.UserDataBack(); secret != "" {
		m.UserDataSecret = &corev1.SecretReference{Name: secret}
	}
}

func zoneTo(p *pass, m *providerSpec, _ *infraSpec) { p.Core.FailureDomain = m.AvailabilityZone }

func zoneFrom(p *pass, _ *infraSpec, m *providerSpec) { m.AvailabilityZone = p.Core.FailureDomain }

func rootVolume(m *providerSpec) *machinev1alpha1.RootVolume {
	if m.RootVolume == nil {
		m.RootVolume = &machinev1alpha1.RootVolume{}
	}
	return m.RootVolume
}
