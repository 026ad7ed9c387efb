// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

var providerStatusKind = machinev1beta1.GroupVersion.WithKind("AWSMachineProviderStatus")

// status converts what the controllers of either API have observed. It does not convert conditions, because the controllers of one API do not know the other
// API's conditions.
type status struct{}

// observed has the fields that the statuses of both APIs have in common, and the instance's ID. The ID is instanceId in the Machine API's status, and
// instanceID in the spec of an AWSMachine.
type observed struct {
	InstanceID    string  `json:"instanceId"`
	InstanceIDToo string  `json:"instanceID"`
	InstanceState *string `json:"instanceState"`
	DedicatedHost struct {
		ID string `json:"id"`
	} `json:"dedicatedHost"`
}

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
	read(providerStatus).into(out)
	return out
}

func (status) ToMachineAPI(infraSpec, infraStatus []byte) map[string]any {
	out := map[string]any{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String()}
	if id := read(infraSpec).InstanceIDToo; id != "" {
		out["instanceId"] = id
	}
	read(infraStatus).into(out)
	return out
}

// read decodes a status or spec. The result is empty if it cannot be decoded.
func read(raw []byte) observed {
	var out observed
	if json.Unmarshal(raw, &out) != nil {
		return observed{}
	}
	return out
}

func (o observed) into(out map[string]any) {
	if o.InstanceState != nil {
		out["instanceState"] = *o.InstanceState
	}
	if o.DedicatedHost.ID != "" {
		out["dedicatedHost"] = map[string]any{"id": o.DedicatedHost.ID}
	}
}
