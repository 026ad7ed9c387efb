// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"regexp"
	"strings"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
)

const oneOf = "give either an id or a filter, not both"

// uuid matches the forms of a UUID that Cluster API's CRD accepts. OpenStack's UUIDs may lack hyphens.
var uuid = regexp.MustCompile(`^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)

func isID(s string) bool { return uuid.MatchString(s) }

func checkID(p *pass, path, id string) {
	if id != "" && !isID(id) {
		p.Invalid(path, id, "must be a UUID, because Cluster API accepts no other form of id")
	}
}

// identify returns the ID of a reference in a providerSpec; nil if the reference has none. A reference has two fields for an ID: uuid (the parameter id) and
// filter.id (alias). If there is an ID, Machine API ignores the rest of the reference; other reports whether there is a rest.
func identify(p *pass, id, alias string, other bool) *string {
	path := "uuid"
	if id == "" {
		id, path = alias, "filter.id"
	}
	if id == "" {
		return nil
	}
	checkID(p, path, id)
	if other {
		p.Note("filter", "Machine API ignores the rest of this reference, because "+path+" is given")
	}
	return &id
}

// identifyBack returns the ID of a reference in Cluster API, "" for none. filtered says whether the reference has a filter. The reference must have an ID or
// a filter, and not both; otherwise identifyBack reports an error.
func identifyBack(p *pass, id *string, filtered bool) string {
	checkID(p, "id", text(id))
	switch {
	case text(id) == "" && !filtered:
		p.Required("", "this reference needs an id or a filter: set one of the two")
	case id != nil && filtered:
		p.Invalid("filter", nil, oneOf)
	}
	return text(id)
}

func networkTo(p *pass, uuid string, from *machinev1alpha1.Filter) *openstackv1.NetworkParam {
	if id := identify(p, uuid, from.ID, *from != machinev1alpha1.Filter{ID: from.ID}); id != nil {
		return &openstackv1.NetworkParam{ID: id}
	}
	var filter openstackv1.NetworkFilter
	NetworkFilters.ToClusterAPI(p.At("filter"), from, &filter)
	if filter.IsZero() {
		return nil
	}
	return &openstackv1.NetworkParam{Filter: &filter}
}

func groupTo(p *pass, m *machinev1alpha1.SecurityGroupParam, c *openstackv1.SecurityGroupParam) {
	if c.ID = identify(p, m.UUID, m.Filter.ID, m.Name != "" || m.Filter != machinev1alpha1.SecurityGroupFilter{ID: m.Filter.ID}); c.ID != nil {
		return
	}
	filter := openstackv1.SecurityGroupFilter{Name: m.Name}
	switch {
	case m.Name == "":
		filter.Name = m.Filter.Name
	case m.Filter.Name != "" && m.Filter.Name != m.Name:
		p.Invalid("filter.name", m.Filter.Name, fmt.Sprintf("differs from the field name, which is %q: remove filter.name", m.Name))
	}
	SecurityGroupFilters.ToClusterAPI(p.At("filter"), &m.Filter, &filter)
	if filter.IsZero() {
		p.Required("uuid", "name the security group, by uuid, name or filter")
	}
	c.Filter = &filter
}

func groupFrom(p *pass, c *openstackv1.SecurityGroupParam, m *machinev1alpha1.SecurityGroupParam) {
	m.UUID = identifyBack(p, c.ID, !c.Filter.IsZero())
	if c.Filter != nil {
		m.Name = c.Filter.Name
		SecurityGroupFilters.ToMachineAPI(p.At("filter"), c.Filter, &m.Filter)
	}
}

// project returns the ID of the project in a filter. Machine API has two fields for this ID: projectId and, formerly, tenantId.
func project(p *pass, id, former string) string {
	if id == "" {
		return former
	}
	if former != "" && former != id {
		p.Invalid("tenantId", former, fmt.Sprintf("differs from projectId, which is %q and takes precedence: remove tenantId", id))
	}
	return id
}

func byTags(p *pass, all, any, notAll, notAny string) openstackv1.FilterByNeutronTags {
	return openstackv1.FilterByNeutronTags{
		Tags: split(p, "tags", all), TagsAny: split(p, "tagsAny", any),
		NotTags: split(p, "notTags", notAll), NotTagsAny: split(p, "notTagsAny", notAny),
	}
}

func byTagsBack(p *pass, f openstackv1.FilterByNeutronTags) (all, any, notAll, notAny string) {
	return joined(p, "tags", f.Tags), joined(p, "tagsAny", f.TagsAny), joined(p, "notTags", f.NotTags), joined(p, "notTagsAny", f.NotTagsAny)
}

func split(p *pass, path, tags string) []openstackv1.NeutronTag {
	if tags == "" {
		return nil
	}
	var out []openstackv1.NeutronTag
	for tag := range strings.SplitSeq(tags, ",") {
		out = append(out, openstackv1.NeutronTag(tag))
	}
	checkTags(p, path, out)
	return out
}

func joined(p *pass, path string, tags []openstackv1.NeutronTag) string {
	checkTags(p, path, tags)
	return openstackv1.JoinTags(tags)
}

func checkTags(p *pass, path string, tags []openstackv1.NeutronTag) {
	seen := sets.New[openstackv1.NeutronTag]()
	for _, tag := range tags {
		switch {
		case tag == "" && seen.Has(tag): // an empty tag was reported before
		case tag == "":
			p.Invalid(path, openstackv1.JoinTags(tags), "a tag must not be empty: remove the empty tag")
		case strings.Contains(string(tag), ","):
			p.Invalid(path, string(tag), "a tag must not contain a comma: give two tags instead")
		case seen.Has(tag):
			p.Invalid(path, string(tag), "the tag is listed twice: remove one of the two")
		}
		seen.Insert(tag)
	}
}
