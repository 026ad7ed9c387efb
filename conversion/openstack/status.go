// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"

	"github.com/poundlock/poundlock/conversion"
)

// providerStatusKind names what Machine API's controllers for OpenStack report. No type of it is published: it is read for
// the instance's id and state, under the names that the other platforms give them, and may be missing altogether.
var providerStatusKind = machinev1alpha1.GroupVersion.WithKind("OpenstackProviderStatus")

// status converts what the controllers of either API have seen. Conditions stay where they are: neither side's
// controllers read the other's.
type status struct{}

// observed is what both statuses have, each with its own name for the id, and the provider id of an OpenStackMachine's spec.
type observed struct {
	InstanceID    string `json:"instanceId"`
	InstanceIDToo string `json:"instanceID"`
	InstanceState string `json:"instanceState"`
	ProviderID    string `json:"providerID"`
}

// ToClusterAPI reports in both ways that the instance exists: ready is what core controllers of the v1beta1 contract wait
// for, initialization.provisioned what those of v1beta2 do.
func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	out := map[string]any{"ready": machine.Ready}
	if machine.Ready {
		out["initialization"] = map[string]any{"provisioned": true}
	}
	if len(machine.Addresses) > 0 {
		out["addresses"] = machine.Addresses
	}
	say(out, "failureReason", machine.FailureReason)
	say(out, "failureMessage", machine.FailureMessage)
	seen := read(providerStatus)
	say(out, "instanceID", instanceID(machine.ProviderID))
	say(out, "instanceID", seen.InstanceID)
	say(out, "instanceState", seen.InstanceState)
	return out
}

func (status) ToMachineAPI(infraSpec, infraStatus []byte) map[string]any {
	out := map[string]any{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String()}
	seen := read(infraStatus)
	say(out, "instanceId", instanceID(read(infraSpec).ProviderID))
	say(out, "instanceId", seen.InstanceIDToo)
	say(out, "instanceState", seen.InstanceState)
	return out
}

func say(out map[string]any, field, value string) {
	if value != "" {
		out[field] = value
	}
}

// read is forgiving: a status that cannot be read counts as empty.
func read(raw []byte) observed {
	var out observed
	if json.Unmarshal(raw, &out) != nil {
		return observed{}
	}
	return out
}
