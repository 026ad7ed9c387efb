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

// status converts what the controllers of either API have observed. It does not convert conditions, because the controllers of one API do not read the other
// API's conditions. It does not convert the failure domain either, because only Cluster API's controller reports it, in each pass.
type status struct{}

// observed has the fields that the statuses of both APIs have in common.
type observed struct {
	VMUUID string `json:"vmUUID"`
}

// ToClusterAPI always writes the VM's UUID. If the Machine API's status has none, it takes the UUID from the provider ID. Cluster API's controller deletes
// the VM that the NutanixMachine's status names. If the status had no UUID, the controller would remove its finalizer and leave the VM running. A lost
// status, as in a restored cluster, must not have this consequence.
func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	var seen observed
	_ = json.Unmarshal(providerStatus, &seen) // a status that cannot be read counts as empty
	if seen.VMUUID == "" {
		seen.VMUUID = vmUUID(machine.ProviderID)
	}
	out := filled{"vmUUID": seen.VMUUID, "failureReason": machine.FailureReason, "failureMessage": machine.FailureMessage}.content()
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
	return filled{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String(), "vmUUID": seen.VMUUID}.content()
}

// vmUUID returns the UUID in a provider ID of the form nutanix://UUID. It returns "" for an ID of another form.
func vmUUID(providerID string) string {
	id, ok := strings.CutPrefix(providerID, "nutanix://")
	if !ok || strings.Contains(id, "/") {
		return ""
	}
	return id
}

// filled maps fields to their values. Its method content leaves out the fields whose value is empty.
type filled map[string]string

func (s filled) content() map[string]any {
	out := map[string]any{}
	for k, v := range s {
		if v != "" {
			out[k] = v
		}
	}
	return out
}
