// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
)

// Unsupported returns the message about a platform that is not in List: that the platform cannot be migrated yet, why, and what happens to its machines. name
// is the Infrastructure's platform type. The message is short enough for a warning; docs/decisions.md has the details.
func Unsupported(name string) string {
	why, known := unsupported()[configv1.PlatformType(name)]
	if !known {
		why = "this version of Poundlock has no conversion for this platform"
	}
	return fmt.Sprintf("platform %s cannot be migrated yet: %s. Machine API stays authoritative for all objects, nothing is lost, and a request to "+
		"move waits", name, why)
}

// unsupported maps the Infrastructure's platform type to the reason why the platform is not in List and will not be there soon.
func unsupported() map[configv1.PlatformType]string {
	const (
		nobodys = "on this platform neither API creates machines"
		dropped = "OpenShift no longer installs clusters on this platform"
	)
	return map[configv1.PlatformType]string{
		configv1.BareMetalPlatformType:    "Metal3 would not find the hosts, which are in the Machine API's namespace",
		configv1.IBMCloudPlatformType:     "no API that OpenShift releases has the providerSpec of this platform",
		configv1.KubevirtPlatformType:     "the Machine API has no providerSpec for this platform",
		configv1.NonePlatformType:         nobodys,
		configv1.ExternalPlatformType:     nobodys,
		configv1.LibvirtPlatformType:      "Cluster API has no provider for this platform",
		configv1.OvirtPlatformType:        dropped,
		configv1.AlibabaCloudPlatformType: dropped,
		configv1.EquinixMetalPlatformType: dropped,
	}
}
