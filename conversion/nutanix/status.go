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

// status converts what the controllers of either API have observed. Conditions are not converted: neither side's controllers read the other's. Only Cluster
// API's side reports the failure domain, in each pass.
type status struct{}

// observed is the common content of both statuses.
type observed struct {
	VMUUID string `json:"vmUUID"`
}

// ToClusterAPI must pass on the VM's UUID: Cluster API's controller deletes the VM that its status names, and without one removes its finalizer and leaves the
// VM running. That must not happen because a status is lost, as in a restored cluster.
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

// vmUUID is the UUID of nutanix://UUID, empty if there is none.
func vmUUID(providerID string) string {
	id, ok := strings.CutPrefix(providerID, "nutanix://")
	if !ok || strings.Contains(id, "/") {
		return ""
	}
	return id
}

// filled are fields and their values, without empty ones.
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
