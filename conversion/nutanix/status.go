// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	"encoding/json"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/conversion"
)

var providerStatusKind = machinev1.GroupVersion.WithKind("NutanixMachineProviderStatus")

// status converts what the controllers of either API have seen. Conditions stay where they are: neither side's
// controllers read the other's. Only Cluster API's side reports the failure domain, in each of its passes.
type status struct{}

// observed is what both statuses have.
type observed struct {
	VMUUID string `json:"vmUUID"`
}

// ToClusterAPI hands the VM's UUID over above all: Cluster API's controller deletes the VM that its status names, and
// without one lets go of the machine and leaves the VM behind. A status that is lost, as in a restored cluster, is no reason.
func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	var seen observed
	_ = json.Unmarshal(providerStatus, &seen) // forgiving: a status that cannot be read counts as empty
	if seen.VMUUID == "" {
		seen.VMUUID = vmUUID(machine.ProviderID)
	}
	out := said{"vmUUID": seen.VMUUID, "failureReason": machine.FailureReason, "failureMessage": machine.FailureMessage}.content()
	out["ready"] = machine.Ready
	if len(machine.Addresses) > 0 {
		out["addresses"] = machine.Addresses
	}
	return out
}

func (status) ToMachineAPI(infraSpec, infraStatus []byte) map[string]any {
	var seen observed
	var spec struct {
		ProviderID string `json:"providerID"`
	}
	_, _ = json.Unmarshal(infraStatus, &seen), json.Unmarshal(infraSpec, &spec)
	if seen.VMUUID == "" {
		seen.VMUUID = vmUUID(spec.ProviderID)
	}
	return said{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String(), "vmUUID": seen.VMUUID}.content()
}

// vmUUID is the UUID of nutanix://UUID, empty where it is none.
func vmUUID(providerID string) string {
	id, ok := strings.CutPrefix(providerID, "nutanix://")
	if !ok || strings.Contains(id, "/") {
		return ""
	}
	return id
}

// said are fields and their values; empty ones are left out.
type said map[string]string

func (s said) content() map[string]any {
	out := map[string]any{}
	for k, v := range s {
		if v != "" {
			out[k] = v
		}
	}
	return out
}
