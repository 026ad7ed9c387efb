// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	"encoding/json"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

var providerStatusKind = machinev1beta1.GroupVersion.WithKind("GCPMachineProviderStatus")

// status converts what the controllers of either API have observed. Both APIs have Google's own name for the instance's state. The instance's ID is its name,
// which Cluster API has only in the provider ID. Conditions are not converted, because a GCPMachine has none.
type status struct{}

// observed has the fields that the statuses of both APIs have in common, and the provider ID, which is an observation that Cluster API has in the spec.
type observed struct {
	InstanceState string `json:"instanceState"`
	ProviderID    string `json:"providerID"`
}

func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	out := map[string]any{"ready": machine.Ready}
	if len(machine.Addresses) > 0 {
		out["addresses"] = machine.Addresses
	}
	setUnlessEmpty(out, "failureReason", machine.FailureReason)
	setUnlessEmpty(out, "failureMessage", machine.FailureMessage)
	setUnlessEmpty(out, "instanceState", read(providerStatus).InstanceState)
	return out
}

func (status) ToMachineAPI(infraSpec, infraStatus []byte) map[string]any {
	out := map[string]any{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String()}
	if id, ok := parseInstance(read(infraSpec).ProviderID); ok {
		out["instanceId"] = id.name
	}
	setUnlessEmpty(out, "instanceState", read(infraStatus).InstanceState)
	return out
}

func setUnlessEmpty(out map[string]any, field, value string) {
	if value != "" {
		out[field] = value
	}
}

// read decodes a status or spec. The result is empty if it cannot be decoded.
func read(raw []byte) observed {
	var out observed
	if json.Unmarshal(raw, &out) != nil {
		return observed{}
	}
	return out
}
