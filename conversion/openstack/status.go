// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"

	"github.com/poundlock/poundlock/conversion"
)

// providerStatusKind names what Machine API's controllers for OpenStack report. Its type is not published: the conversion reads the instance's id and state by
// the names of the other platforms, and may find none.
var providerStatusKind = machinev1alpha1.GroupVersion.WithKind("OpenstackProviderStatus")

// status converts what the controllers of either API have observed. Conditions are not converted: neither side's controllers read the other's.
type status struct{}

// observed is the common content of both statuses, each with its own name for the id, and the provider id of an OpenStackMachine's spec.
type observed struct {
	InstanceID    string `json:"instanceId"`
	InstanceIDToo string `json:"instanceID"`
	InstanceState string `json:"instanceState"`
	ProviderID    string `json:"providerID"`
}

// ToClusterAPI reports in both ways that the instance exists: core controllers of the v1beta1 contract wait for ready, those of v1beta2 for
// initialization.provisioned.
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

// read counts a status that cannot be read as empty.
func read(raw []byte) observed {
	var out observed
	if json.Unmarshal(raw, &out) != nil {
		return observed{}
	}
	return out
}
