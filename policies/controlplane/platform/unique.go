// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// Unique is a member of a providerSpec that only one Machine can have. In its path, [] stands for each item of a list.
type Unique struct{ path, Remedy string }

// Uniques lists the members that only one Machine can have. A template must not have them (controlplane/one-machine), a generated template has none, and they
// do not count as differences.
func Uniques() []Unique {
	return []Unique{
		{"network.devices[].ipAddrs", "every Machine would have the same address: leave this field out, and have DHCP give the addresses"},
		{"ports[].fixedIPs[].ipAddress", "every Machine would have the same address: name only the subnet"},
		{"ports[].macAddress", "every Machine would have the same address: leave this field out"},
		{"floatingIP", "every Machine would have the same address: leave this field out"},
	}
}

// Each calls the function use for every object of a providerSpec that has the member, with the object, the member's name and its path.
func (o Unique) Each(spec map[string]any, use func(in map[string]any, name, path string)) {
	var walk func(at any, way []string, path string)
	walk = func(at any, way []string, path string) {
		m, ok := at.(map[string]any)
		if !ok {
			return
		}
		name, list := strings.CutSuffix(way[0], "[]")
		here := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case list:
			items, _ := m[name].([]any)
			for i, item := range items {
				walk(item, way[1:], values.Item(here, i))
			}
		case len(way) > 1:
			walk(m[name], way[1:], here)
		case !values.Blank(m[name]):
			use(m, name, here)
		}
	}
	walk(spec, strings.Split(o.path, "."), "")
}

// StripUnique removes from a providerSpec the members that only one Machine can have, and returns their paths.
func StripUnique(spec map[string]any) []string {
	var out []string
	for _, o := range Uniques() {
		o.Each(spec, func(in map[string]any, name, path string) {
			delete(in, name)
			out = append(out, path)
		})
	}
	if len(out) > 0 {
		// A fixed IP without a subnet had only its address, so nothing of it is left.
		for _, port := range values.List(spec, "ports") {
			if m, ok := port.(map[string]any); ok && m["fixedIPs"] != nil {
				m["fixedIPs"] = slices.DeleteFunc(values.List(m, "fixedIPs"), func(f any) bool { return values.Blank(values.At(f, values.Path("subnetID"))) })
				if len(values.List(m, "fixedIPs")) == 0 {
					delete(m, "fixedIPs")
				}
			}
		}
	}
	return out
}
