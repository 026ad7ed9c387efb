// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"strings"

	"github.com/poundlock/poundlock/conversion"
)

// instanceSpec returns the spec of a VSphereVM as the provider would make it from a VSphereMachine's spec, plus the ID of the virtual machine. With this ID
// the provider finds the virtual machine in any folder and under any name. Without the ID the provider looks for the Machine's name in the machine's folder,
// and clones a second virtual machine if it finds none. There are two cases in which the provider must make the VSphereVM, and instanceSpec returns nil:
// there is no ID yet, or a failure domain determines the spec, which is immutable.
func instanceSpec(env *conversion.Env, machine map[string]any, failureDomain string) map[string]any {
	id, _ := machine["providerID"].(string)
	uuid, ok := strings.CutPrefix(id, providerIDPrefix)
	if !ok || uuid == "" || failureDomain != "" {
		return nil
	}
	spec := map[string]any{}
	for field, value := range machine {
		switch field {
		case "providerID", "failureDomain", "namingStrategy":
		default:
			spec[field] = value
		}
	}
	if server, _ := spec["server"].(string); server == "" {
		if server, _ := env.InfraClusterString("spec", "server"); server != "" {
			spec["server"] = server
		}
	}
	spec["biosUUID"] = uuid
	return spec
}
