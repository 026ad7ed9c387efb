// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"

	"github.com/poundlock/poundlock/conversion"
)

// providerStatusKind is the kind of the providerStatus that Machine API's controllers for OpenStack write. The type is not published. So the conversion looks
// for the instance's ID and state in the same fields as on the other platforms, and may find none.
var providerStatusKind = machinev1alpha1.GroupVersion.WithKind("OpenstackProviderStatus")

// status converts what the controllers of either API have observed. It does not convert conditions, because the controllers of one API do not read the other
// API's conditions.
type status struct{}

// observed has the fields that the statuses of both APIs have in common, and the provider ID of an OpenStackMachine's spec. The instance's ID is instanceId
// in Machine API, and instanceID in Cluster API.
type observed struct {
	InstanceID    string `json:"instanceId"`
	InstanceIDToo string `json:"instanceID"`
	InstanceState string `json:"instanceState"`
	ProviderID    string `json:"providerID"`
}

// ToClusterAPI writes two fields that say that the instance exists. Core controllers of the v1beta1 contract wait for ready, and core controllers of the
// v1beta2 contract wait for initialization.provisioned.
func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	out := map[string]any{"ready": machine.Ready}
	if machine.Ready {
		out["initialization"] = map[string]any{"provisioned": true}
	}
	if len(machine.Addresses) > 0 {
		out["addresses"] = machine.Addresses
	}
	setUnlessEmpty(out, "failureReason", machine.FailureReason)
	setUnlessEmpty(out, "failureMessage", machine.FailureMessage)
	seen := read(providerStatus)
	setUnlessEmpty(out, "instanceID", instanceID(machine.ProviderID))
	setUnlessEmpty(out, "instanceID", seen.InstanceID)
	setUnlessEmpty(out, "instanceState", seen.InstanceState)
	return out
}

func (status) ToMachineAPI(infraSpec, infraStatus []byte) map[string]any {
	out := map[string]any{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String()}
	seen := read(infraStatus)
	setUnlessEmpty(out, "instanceId", instanceID(read(infraSpec).ProviderID))
	setUnlessEmpty(out, "instanceId", seen.InstanceIDToo)
	setUnlessEmpty(out, "instanceState", seen.InstanceState)
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
