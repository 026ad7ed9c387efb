// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// ZoneOf returns the place that a providerSpec names, for example its zone; "" for none.
func (p Row) ZoneOf(spec map[string]any) string {
	var out []string
	for _, path := range p.zones {
		if v, ok := values.At(spec, values.Path(path)).(string); ok && v != "" {
			out = append(out, v)
		}
	}
	return strings.Join(slices.Compact(out), " ")
}
