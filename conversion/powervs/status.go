// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	"encoding/json"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/conversion"
)

var providerStatusKind = machinev1.GroupVersion.WithKind("PowerVSMachineProviderStatus")

// status converts what the controllers of either API have observed. Conditions are not converted: neither side's controllers read the other's. Only Cluster
// API's side reports region, zone and health, in each pass.
type status struct{}

// ToClusterAPI must write the instance's ID. Cluster API's controller deletes the instance that its status names. Without an ID there, it removes its finalizer
// and leaves the instance running. If the status is lost, as in a restored cluster, the ID comes from the provider ID.
func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	var seen struct {
		InstanceID    string `json:"instanceId"`
		InstanceState string `json:"instanceState"`
	}
	// A status that cannot be read counts as empty.
	_ = json.Unmarshal(providerStatus, &seen)
	if seen.InstanceID == "" {
		seen.InstanceID = parseProviderID(machine.ProviderID).instance
	}
	out := filled{"instanceID": seen.InstanceID, "instanceState": seen.InstanceState,
		"failureReason": machine.FailureReason, "failureMessage": machine.FailureMessage}.content()
	out["ready"] = machine.Ready
	if len(machine.Addresses) > 0 {
		out["addresses"] = machine.Addresses
	}
	return out
}

// ToMachineAPI reads the workspace from the provider ID, the only source: Machine API keeps it in its status.
func (status) ToMachineAPI(infraSpec, infraStatus []byte) map[string]any {
	var seen struct {
		InstanceID    string `json:"instanceID"`
		InstanceState string `json:"instanceState"`
	}
	var spec MachineSpec
	_, _ = json.Unmarshal(infraStatus, &seen), json.Unmarshal(infraSpec, &spec)
	id := parseProviderID(text(spec.ProviderID))
	if seen.InstanceID == "" {
		seen.InstanceID = id.instance
	}
	if id.workspace == "" {
		id.workspace = workspaceID(&spec)
	}
	return filled{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String(),
		"instanceId": seen.InstanceID, "serviceInstanceID": id.workspace, "instanceState": seen.InstanceState}.content()
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
