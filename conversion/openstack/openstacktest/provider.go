// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstacktest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// ID makes random UUIDs, for use in Values.
func ID(r *rand.Rand) any { return randomID(r) }

// maybeID makes random UUIDs or "", for use in Values.
func maybeID(r *rand.Rand) any {
	if r.IntN(2) == 0 {
		return ""
	}
	return randomID(r)
}

// ProviderValues returns makers of valid values for those fields of a providerSpec whose values must obey rules.
func ProviderValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	secret := func(name, namespace string) *corev1.SecretReference {
		return &corev1.SecretReference{Name: name, Namespace: namespace}
	}
	out := conversiontest.Values{
		"kind": one(""), "apiVersion": one(""),
		"metadata": conversiontest.OneOf(metav1.ObjectMeta{Name: "x"}),
		"cloudsSecret": conversiontest.OneOf(secret("openstack-cloud-credentials", ""),
			secret("openstack-cloud-credentials", "openshift-machine-api"), secret("mine", "")),
		"cloudName":                             one("openstack", "openstack", "theirs"),
		"userDataSecret":                        conversiontest.OneOf(secret("worker-user-data", ""), secret("worker-user-data", "openshift-machine-api")),
		"serverGroupID":                         maybeID,
		"serverGroupName":                       one("", "lock-7x2k9-worker"),
		"rootVolume.sourceUUID":                 func(r *rand.Rand) any { return []string{"", randomID(r), "rhcos"}[r.IntN(3)] },
		"rootVolume.sourceType":                 one("", "image"),
		"rootVolume.availabilityZone":           one("", "cinder-1"),
		"additionalBlockDevices[].storage.type": one("Volume", "Local"),
		"networks[].profile":                    profiles,
		"ports[].profile":                       profiles,
		"ports[].networkID":                     ID,
		"ports[].fixedIPs[].subnetID":           ID,
		"ports[].nameSuffix":                    one("a", "b", "radio"),
		"ports[].securityGroups":                ids,
	}
	for _, path := range []string{"networks[].filter", "networks[].subnets[].filter", "securityGroups[].filter"} {
		out[strings.TrimSuffix(path, "filter")+"uuid"] = maybeID
		out[path+".id"] = maybeID
		for _, tags := range []string{"tags", "tagsAny", "notTags", "notTagsAny"} {
			out[path+"."+tags] = one("", "a", "a,b", "b,c=d,e f")
		}
	}
	return out
}

func profiles(r *rand.Rand) any {
	all := []map[string]string{nil, {}, {"capabilities": `["switchdev"]`}, {"capabilities": "[switchdev]", "trusted": "true"}, {"trusted": "false"}}
	return all[r.IntN(len(all))]
}

func ids(r *rand.Rand) any {
	out := make([]string, r.IntN(4))
	for i := range out {
		out[i] = randomID(r)
	}
	return out
}

// RepairProvider changes a generated providerSpec so that it also obeys the rules about more than one field. None of the providerSpec's ports could be an
// entry of networks, because each port has a nameSuffix.
func RepairProvider(r *rand.Rand, m *machinev1alpha1.OpenstackProviderSpec) {
	m.Tags = distinct(m.Tags, "")
	if m.ServerGroupID != "" {
		m.ServerGroupName = ""
	}
	if m.RootVolume != nil && m.RootVolume.SourceUUID != "" {
		m.Image = ""
	}
	for i := range m.SecurityGroups {
		repairGroup(r, &m.SecurityGroups[i])
	}
	if len(m.Networks)+len(m.Ports) == 0 {
		m.Networks = []machinev1alpha1.NetworkParam{{Filter: machinev1alpha1.Filter{Name: "lock-7x2k9-openshift"}}}
	}
	for i := range m.Networks {
		repairNetwork(r, &m.Networks[i])
	}
	for i := range m.Ports {
		m.Ports[i].Tags = distinct(m.Ports[i].Tags, "")
		if off(m.Ports[i].PortSecurity) {
			m.Ports[i].SecurityGroups = nil
		}
	}
	repairGroups(m)
	for i := range m.AdditionalBlockDevices {
		d := &m.AdditionalBlockDevices[i]
		d.Name += fmt.Sprint("-", i)
		if d.Storage.Type == machinev1alpha1.LocalBlockDevice {
			d.Storage.Volume = nil
		}
	}
}

func off(b *bool) bool { return b != nil && !*b }

// distinct changes tags so that they differ from one another, and from the tags of a call with another mark.
func distinct(tags []string, mark string) []string {
	for i := range tags {
		tags[i] += fmt.Sprint("-", mark, i)
	}
	return tags
}

func repairNetwork(r *rand.Rand, n *machinev1alpha1.NetworkParam) {
	n.PortTags = distinct(n.PortTags, "")
	n.Filter.TenantID = former(n.Filter.ProjectID, n.Filter.TenantID)
	for i := range n.Subnets {
		s := &n.Subnets[i]
		s.PortTags = distinct(s.PortTags, fmt.Sprint(i, "-"))
		s.Filter.TenantID = former(s.Filter.ProjectID, s.Filter.TenantID)
		repairID(r, &s.UUID, &s.Filter.ID)
	}
	repairID(r, &n.UUID, &n.Filter.ID)
	if r.IntN(4) == 0 { // the entry as the installer writes it
		n.UUID, n.Filter = "", machinev1alpha1.Filter{}
		n.Subnets = []machinev1alpha1.SubnetParam{{Filter: machinev1alpha1.SubnetFilter{Name: nodes, Tags: clusterTag}}}
	}
}

func former(id, tenant string) string {
	if id != "" && tenant != "" {
		return id
	}
	return tenant
}

// repairID changes a reference so that it has either an ID, in one or both of the two fields for it, or only a filter.
func repairID(r *rand.Rand, id, alias *string) {
	switch {
	case r.IntN(2) == 0:
		*id, *alias = "", ""
	case *id+*alias == "":
		*id = randomID(r)
	}
}

func repairGroup(r *rand.Rand, g *machinev1alpha1.SecurityGroupParam) {
	g.Filter.TenantID = former(g.Filter.ProjectID, g.Filter.TenantID)
	repairID(r, &g.UUID, &g.Filter.ID)
	if g.Name != "" {
		g.Filter.Name = ""
	}
}

// repairGroups removes the machine's security groups in two cases: if no interface gets them, or if they would come back as the ports' own groups.
func repairGroups(m *machinev1alpha1.OpenstackProviderSpec) {
	networks, ports, apart := 0, 0, false
	for _, n := range m.Networks {
		apart = apart || off(n.PortSecurity)
		if !off(n.PortSecurity) {
			networks++
		}
	}
	for _, p := range m.Ports {
		own := p.SecurityGroups != nil && len(*p.SecurityGroups) > 0
		apart = apart || own || off(p.PortSecurity)
		if !own && !off(p.PortSecurity) {
			ports++
		}
	}
	if apart && (networks+ports == 0 || networks == 0 &&
		!slices.ContainsFunc(m.SecurityGroups, func(g machinev1alpha1.SecurityGroupParam) bool { return g.UUID+g.Filter.ID == "" })) {
		m.SecurityGroups = nil
	}
}

// NormalProvider changes a providerSpec into the form that it has after the round trip. If several forms mean the same, the note in the field's row says
// which one comes back.
func NormalProvider(m *machinev1alpha1.OpenstackProviderSpec) {
	m.CloudsSecret.Namespace, m.UserDataSecret.Namespace = "openshift-machine-api", ""
	m.PrimarySubnet = ""
	if !slices.Contains(m.Tags, clusterTag) {
		m.Tags = append(m.Tags, clusterTag)
	}
	m.SshUserName = ""
	if m.ServerGroupID != "" {
		m.ServerGroupName = ""
	}
	if v := m.RootVolume; v != nil {
		v.DeprecatedSourceType, v.DeprecatedDeviceType = "", ""
		switch v.SourceUUID {
		case "":
		case "rhcos":
			m.Image, v.SourceUUID = v.SourceUUID, ""
		default:
			m.Image = ""
		}
	}
	for i := range m.Networks {
		normalNetwork(&m.Networks[i])
	}
	for i := range m.Ports {
		p := &m.Ports[i]
		p.Profile = normalProfile(p.Profile)
		p.DeprecatedHostID, p.ProjectID, p.TenantID = "", "", ""
		if p.SecurityGroups != nil && len(*p.SecurityGroups) == 0 {
			p.SecurityGroups = nil
		}
	}
	for i := range m.SecurityGroups {
		g := &m.SecurityGroups[i]
		if g.UUID = cmp.Or(g.UUID, g.Filter.ID); g.UUID != "" {
			g.Name, g.Filter = "", machinev1alpha1.SecurityGroupFilter{}
		}
		g.Filter.DeprecatedLimit, g.Filter.DeprecatedMarker, g.Filter.DeprecatedSortKey, g.Filter.DeprecatedSortDir = 0, "", "", ""
		g.Name, g.Filter.Name = g.Name+g.Filter.Name, ""
		g.Filter.ProjectID, g.Filter.TenantID = renamed(g.Filter.ProjectID, g.Filter.TenantID), ""
	}
	for i := range m.AdditionalBlockDevices {
		if v := m.AdditionalBlockDevices[i].Storage.Volume; v != nil && *v == (machinev1alpha1.BlockDeviceVolume{}) {
			m.AdditionalBlockDevices[i].Storage.Volume = nil
		}
	}
}

func normalNetwork(n *machinev1alpha1.NetworkParam) {
	if n.UUID = cmp.Or(n.UUID, n.Filter.ID); n.UUID != "" {
		n.Filter = machinev1alpha1.Filter{}
	}
	n.FixedIp = ""
	n.Filter = machinev1alpha1.Filter{
		Name: n.Filter.Name, Description: n.Filter.Description, ProjectID: renamed(n.Filter.ProjectID, n.Filter.TenantID),
		Tags: n.Filter.Tags, TagsAny: n.Filter.TagsAny, NotTags: n.Filter.NotTags, NotTagsAny: n.Filter.NotTagsAny,
	}
	n.Profile = normalProfile(n.Profile)
	for i := range n.Subnets {
		s := &n.Subnets[i]
		if s.UUID = cmp.Or(s.UUID, s.Filter.ID); s.UUID != "" {
			s.Filter = machinev1alpha1.SubnetFilter{}
		}
		s.PortSecurity = nil
		f := s.Filter
		f.ID, f.NetworkID, f.SubnetPoolID, f.DeprecatedEnableDHCP, f.TenantID = "", "", "", nil, ""
		f.DeprecatedLimit, f.DeprecatedMarker, f.DeprecatedSortKey, f.DeprecatedSortDir = 0, "", "", ""
		f.ProjectID = renamed(s.Filter.ProjectID, s.Filter.TenantID)
		s.Filter = f
		n.PortTags, s.PortTags = append(n.PortTags, s.PortTags...), nil
	}
}

func renamed(id, former string) string {
	if id == "" {
		return former
	}
	return id
}

func normalProfile(p map[string]string) map[string]string {
	if _, ok := p["capabilities"]; ok {
		p["capabilities"] = "[switchdev]"
	}
	return p
}
