// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	"encoding/json"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/conversion"
)

var providerStatusKind = machinev1.GroupVersion.WithKind("PowerVSMachineProviderStatus")

// status converts what the controllers of either API have observed. It does not convert conditions, because the controllers of one API do not read the other
// API's conditions. It does not convert region, zone and health either, because only Cluster API's controller reports them, in each pass.
type status struct{}

// ToClusterAPI always writes the instance's ID. Cluster API's controller deletes the instance that the IBMPowerVSMachine's status names. If the status had no
// ID, the controller would remove its finalizer and leave the instance running. If the Machine API's status is lost, as in a restored cluster, ToClusterAPI
// takes the ID from the provider ID.
func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	var seen struct {
		InstanceID    string `json:"instanceId"`
		InstanceState string `json:"instanceState"`
	}
	// A status that cannot be decoded counts as empty.
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

// ToMachineAPI also writes the workspace, because Machine API has it in its status. Cluster API's status does not have the workspace, so ToMachineAPI takes
// it from the provider ID or, if there is none, from the spec.
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
