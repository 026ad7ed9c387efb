// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// zonePaths are the members of a providerSpec that tell in which place of its platform a Machine is, whether or not the set lists that.
func zonePaths(p configv1.PlatformType) []string {
	switch p {
	case configv1.AWSPlatformType:
		return []string{"placement.availabilityZone"}
	case configv1.AzurePlatformType, configv1.GCPPlatformType:
		return []string{"zone"}
	case configv1.OpenStackPlatformType:
		return []string{"availabilityZone", "rootVolume.availabilityZone"}
	case configv1.VSpherePlatformType:
		return []string{"workspace.server", "workspace.datacenter", "workspace.resourcePool"}
	case configv1.NutanixPlatformType:
		return []string{"failureDomain.name"}
	}
	return nil
}

// ZoneOf is the place that a providerSpec names, "" for none.
func (p Row) ZoneOf(spec map[string]any) string {
	var out []string
	for _, path := range zonePaths(p.Name) {
		if v, ok := values.At(spec, values.Path(path)).(string); ok && v != "" {
			out = append(out, v)
		}
	}
	return strings.Join(slices.Compact(out), " ")
}
