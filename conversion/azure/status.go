// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"encoding/json"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

var providerStatusKind = machinev1beta1.GroupVersion.WithKind("AzureMachineProviderStatus")

// status converts what the controllers of either API have observed. It does not convert conditions, because the controllers of one API do not know the other
// API's conditions.
type status struct{}

func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	out := map[string]any{"ready": machine.Ready}
	if len(machine.Addresses) > 0 {
		out["addresses"] = machine.Addresses
	}
	text := func(field, value string) {
		if value != "" {
			out[field] = value
		}
	}
	text("failureReason", machine.FailureReason)
	text("failureMessage", machine.FailureMessage)
	text("vmState", provisioning(read(providerStatus).VMState))
	return out
}

func (status) ToMachineAPI(infraSpec, infraStatus []byte) map[string]any {
	out := map[string]any{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String()}
	if id, ok := strings.CutPrefix(read(infraSpec).ProviderID, scheme); ok && id != "" {
		out["vmId"] = id
	}
	if state := read(infraStatus).VMState; known(state) {
		out["vmState"] = state
	}
	return out
}

// observed has the fields that the statuses of both APIs have in common, and the virtual machine's ID, which Cluster API has in the spec.
type observed struct {
	VMState    string `json:"vmState"`
	ProviderID string `json:"providerID"`
}

// read decodes a status or spec. The result is empty if it cannot be decoded.
func read(raw []byte) observed {
	var out observed
	if json.Unmarshal(raw, &out) != nil {
		return observed{}
	}
	return out
}

// provisioning returns Cluster API's provisioning state for a state of the Machine API. A state about a machine's power becomes Succeeded, because Machine
// API reports the power only once Azure has provisioned the machine.
func provisioning(state string) string {
	switch machinev1beta1.AzureVMState(state) {
	case machinev1beta1.VMStateStarting, machinev1beta1.VMStateRunning, machinev1beta1.VMStateStopping, machinev1beta1.VMStateStopped,
		machinev1beta1.VMStateDeallocating, machinev1beta1.VMStateDeallocated, machinev1beta1.VMStateUnknown:
		return string(azurev1.Succeeded)
	}
	return state
}

// known reports whether a state of Cluster API is also one of Machine API's states. Canceled and Deleted are not.
func known(state string) bool {
	switch machinev1beta1.AzureVMState(state) {
	case machinev1beta1.VMStateCreating, machinev1beta1.VMStateDeleting, machinev1beta1.VMStateFailed,
		machinev1beta1.VMStateMigrating, machinev1beta1.VMStateSucceeded, machinev1beta1.VMStateUpdating:
		return true
	}
	return false
}
