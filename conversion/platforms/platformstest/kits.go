// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platformstest

import (
	"fmt"
	"strings"

	"github.com/poundlock/poundlock/conversion/aws/awstest"
	"github.com/poundlock/poundlock/conversion/azure/azuretest"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/gcp/gcptest"
	"github.com/poundlock/poundlock/conversion/nutanix/nutanixtest"
	"github.com/poundlock/poundlock/conversion/openstack/openstacktest"
	"github.com/poundlock/poundlock/conversion/powervs/powervstest"
	"github.com/poundlock/poundlock/conversion/vsphere/vspheretest"
)

// Kits returns the kit of every platform.
func Kits() []conversiontest.Kit {
	return []conversiontest.Kit{
		awstest.Kit(),
		azuretest.Kit(),
		gcptest.Kit(),
		openstacktest.Kit(),
		vspheretest.Kit(),
		powervstest.Kit(),
		nutanixtest.Kit(),
	}
}

// Named returns the kit of the platform with this name, in any case. The error lists the names of all platforms.
func Named(platform string) (conversiontest.Kit, error) {
	var names []string
	for _, k := range Kits() {
		name := strings.ToLower(k.Platform.Name)
		if name == strings.ToLower(platform) {
			return k, nil
		}
		names = append(names, name)
	}
	return conversiontest.Kit{}, fmt.Errorf("there is no platform %q: name one of %s", platform, strings.Join(names, ", "))
}
