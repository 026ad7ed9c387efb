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

// hollow reports whether a value is empty, at every level.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
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

// remove returns v without a member, and without the objects and the last items of lists that are empty without it.
func remove(v any, way []place) any {
	if l, ok := v.([]any); ok && way[0].index >= 0 && way[0].index < len(l) {
		l[way[0].index] = without(l[way[0].index], way)
		for len(l) > 0 && barren(l[len(l)-1]) {
			l = l[:len(l)-1]
		}
		return l
	}
	if m, ok := v.(map[string]any); ok && m[way[0].name] != nil {
		if m[way[0].name] = without(m[way[0].name], way); barren(m[way[0].name]) {
			delete(m, way[0].name)
		}
	}
	return v
}

func without(v any, way []place) any {
	if len(way) == 1 {
		return nil
	}
	return remove(v, way[1:])
}

func barren(v any) bool {
	if m, ok := v.(map[string]any); ok {
		return len(m) == 0
	}
	return hollow(v)
}
