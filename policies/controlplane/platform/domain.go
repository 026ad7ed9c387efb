// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"encoding/json"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// ClusterAPI returns the name that Cluster API has for a failure domain. Cluster API's providers use the first field that determines a Machine's place. The
// provider for vSphere uses the name in the Infrastructure.
func (d Domain) ClusterAPI(p configv1.PlatformType) string {
	row := Named(p)
	if row.named {
		return d.Name
	}
	if len(row.zones) == 0 {
		return ""
	}
	for _, s := range d.Sets {
		if s.Path == row.zones[0] {
			name, _ := s.Value.(string)
			return name
		}
	}
	return ""
}

// In returns the template's providerSpec with the values that the domain sets.
func (d Domain) In(spec map[string]any) map[string]any {
	out := values.Plain(spec)
	for _, s := range d.Sets {
		if own := values.At(out, values.Path(s.Path)); s.Yields && own != nil && own != "" {
			continue
		}
		out = values.Put(out, values.Path(s.Path), s.Value)
	}
	made, _ := out.(map[string]any)
	return made
}

// Holds reports whether a machine with this providerSpec is in the domain.
func (d Domain) Holds(p Row, spec map[string]any) bool {
	if spec == nil {
		return false
	}
	d.Sets = slices.DeleteFunc(slices.Clone(d.Sets), func(s Setting) bool { return s.aside })
	found, err := policies.Differences(field.NewPath("value"), values.Raw(p.Meaning(spec)), values.Raw(p.Meaning(d.In(spec))))
	return err == nil && len(found) == 0
}

// Under reports whether a domain sets a field whose path begins with a text, such as "rootVolume." for all fields of rootVolume.
func (d Domain) Under(prefix string) bool {
	return slices.ContainsFunc(d.Sets, func(s Setting) bool { return strings.HasPrefix(s.Path, prefix) })
}

// Replaces reports whether a domain sets the member at a path to another value than "own".
func (d Domain) Replaces(path string, own any) bool {
	return slices.ContainsFunc(d.Sets, func(s Setting) bool { return s.Path == path && s.Value != own })
}

// Domain is a failure domain, which is a set of values for members of a providerSpec.
type Domain struct {
	// Name is what people call the domain: its zone, or its name in the Infrastructure.
	Name string
	Sets []Setting
}

// Setting is a value for one member of a providerSpec, such as "placement.availabilityZone" or "network.devices[0].networkName".
type Setting struct {
	Path  string
	Value any
	// Yields reports that a value of the template takes precedence over this value.
	Yields bool
	// aside reports that the setting determines a Machine's image, and not its place.
	aside bool
}

// Same reports whether two domains set the same values.
func (d Domain) Same(other Domain) bool { return d.Key() == other.Key() }

// Key returns a text that is equal for two domains that set the same members to the same values, whatever their names.
func (d Domain) Key() string {
	all := slices.Clone(d.Sets)
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Path, b.Path) })
	text, err := json.Marshal(pairs(all))
	if err != nil {
		return d.Name
	}
	return string(text)
}

func pairs(all []Setting) [][2]any {
	var out [][2]any
	for _, s := range all {
		out = append(out, [2]any{s.Path, s.Value})
	}
	return out
}

// put adds a setting. It adds none for an empty value: then the domain leaves the field to the template.
func (d *Domain) put(path, value string) {
	if value != "" {
		d.Sets = append(d.Sets, Setting{Path: path, Value: value})
	}
}
