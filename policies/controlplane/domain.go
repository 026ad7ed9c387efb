// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// clusterAPI is what Cluster API calls a failure domain. Its providers use the first field that has a Machine's place, vSphere's by the name in the
// Infrastructure.
func (d Domain) clusterAPI(p configv1.PlatformType) string {
	if p == configv1.VSpherePlatformType {
		return d.Name
	}
	paths := zonePaths(p)
	if len(paths) == 0 {
		return ""
	}
	for _, s := range d.sets {
		if s.path == paths[0] {
			name, _ := s.value.(string)
			return name
		}
	}
	return ""
}

// in is the template's providerSpec with a domain in it.
func (d Domain) in(spec map[string]any) map[string]any {
	out := plain(spec)
	for _, s := range d.sets {
		if own := member(out, places(s.path)); s.yields && own != nil && own != "" {
			continue
		}
		out = put(out, places(s.path), s.value)
	}
	made, _ := out.(map[string]any)
	return made
}

// holds reports whether a providerSpec is in the domain.
func (d Domain) holds(p platform, spec map[string]any) bool {
	if spec == nil {
		return false
	}
	d.sets = slices.DeleteFunc(slices.Clone(d.sets), func(s setting) bool { return s.aside })
	return len(different(field.NewPath("value"), p.meaning(spec), p.meaning(d.in(spec)))) == 0
}

// under reports whether a domain sets a member beneath a path.
func (d Domain) under(path string) bool {
	return slices.ContainsFunc(d.sets, func(s setting) bool { return strings.HasPrefix(s.path, path) })
}

// replaces reports whether a domain sets a member to another value.
func (d Domain) replaces(path string, own any) bool {
	return slices.ContainsFunc(d.sets, func(s setting) bool { return s.path == path && s.value != own })
}

// Domain is a failure domain: what it sets in a providerSpec.
type Domain struct {
	// Name is what people call it: a zone, or its name in the Infrastructure.
	Name string
	sets []setting
}

// setting is one member of a providerSpec: "placement.availabilityZone", "network.devices[0].networkName".
type setting struct {
	path  string
	value any
	// yields: the providerSpec's own value counts.
	yields bool
	// aside: it has the source of a Machine, and not its place.
	aside bool
}

// same reports whether two domains set the same.
func (d Domain) same(other Domain) bool { return d.key() == other.key() }

func (d Domain) key() string {
	all := slices.Clone(d.sets)
	slices.SortFunc(all, func(a, b setting) int { return strings.Compare(a.path, b.path) })
	text, err := json.Marshal(pairs(all))
	if err != nil {
		return d.Name
	}
	return string(text)
}

func pairs(all []setting) [][2]any {
	var out [][2]any
	for _, s := range all {
		out = append(out, [2]any{s.path, s.value})
	}
	return out
}

// put adds a setting, unless the domain leaves the field to the template.
func (d *Domain) put(path, value string) {
	if value != "" {
		d.sets = append(d.sets, setting{path: path, value: value})
	}
}
