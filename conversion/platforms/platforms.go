// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms

import (
	"slices"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/aws"
	"github.com/poundlock/poundlock/conversion/azure"
	"github.com/poundlock/poundlock/conversion/gcp"
	"github.com/poundlock/poundlock/conversion/nutanix"
	"github.com/poundlock/poundlock/conversion/openstack"
	"github.com/poundlock/poundlock/conversion/powervs"
	"github.com/poundlock/poundlock/conversion/vsphere"
)

// List returns every platform that Poundlock converts.
func List() []conversion.Platform {
	return []conversion.Platform{
		aws.Platform(),
		azure.Platform(),
		gcp.Platform(),
		openstack.Platform(),
		vsphere.Platform(),
		powervs.Platform(),
		nutanix.Platform(),
	}
}

// For finds a platform by the Infrastructure's platform type, such as "AWS".
func For(name string) (conversion.Platform, bool) {
	for _, p := range List() {
		if p.Name == name {
			return p, true
		}
	}
	return conversion.Platform{}, false
}

// Named finds a platform by a kind. The kind is that of a provider's machine, of its template, or of a providerSpec. Named is for callers without an
// Infrastructure.
func Named(kind string) (conversion.Platform, bool) {
	for _, p := range List() {
		if slices.Contains([]string{p.InfraMachine.Kind, p.InfraMachineTemplate.Kind, p.ProviderSpec.Kind}, kind) {
			return p, true
		}
	}
	return conversion.Platform{}, false
}
