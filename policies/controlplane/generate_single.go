// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// own is a member of a providerSpec that one Machine alone can have; [] stands for each item of a list.
type own struct{ path, remedy string }

// owned lists them. A template must not have them (controlplane/one-machine), a generated one does not, and no Machine differs from its template in them.
func owned() []own {
	return []own{
		{"network.devices[].ipAddrs", "every Machine would have the same address: take it from a pool (addressesFromPools)"},
		{"ports[].fixedIPs[].ipAddress", "every Machine would have the same address: name the subnet alone"},
		{"ports[].macAddress", "every Machine would have the same address: leave it out"},
		{"floatingIP", "every Machine would have the same address: leave it out"},
	}
}

// each calls use with every object of a providerSpec that has the member, and with its path.
func (o own) each(spec map[string]any, use func(in map[string]any, name, path string)) {
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
				walk(item, way[1:], listItem(here, i))
			}
		case len(way) > 1:
			walk(m[name], way[1:], here)
		case !hollow(m[name]):
			use(m, name, here)
		}
	}
	walk(spec, strings.Split(o.path, "."), "")
}

// strip removes from a providerSpec what its Machine alone can have, and returns the paths.
func strip(spec map[string]any) []string {
	var out []string
	for _, o := range owned() {
		o.each(spec, func(in map[string]any, name, path string) {
			delete(in, name)
			out = append(out, path)
		})
	}
	if len(out) > 0 {
		// A fixed address without a subnet named nothing but itself.
		for _, port := range listAt(spec, "ports") {
			if m, ok := port.(map[string]any); ok && m["fixedIPs"] != nil {
				m["fixedIPs"] = slices.DeleteFunc(listAt(m, "fixedIPs"), func(f any) bool { return hollow(member(f, places("subnetID"))) })
				if len(listAt(m, "fixedIPs")) == 0 {
					delete(m, "fixedIPs")
				}
			}
		}
	}
	return out
}

func machinePath() *field.Path { return field.NewPath("spec", "providerSpec", "value") }
