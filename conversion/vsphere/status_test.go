// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/vsphere"
)

const when = "2026-11-21T22:00:00Z"

func TestWhatAProviderStatusHas(t *testing.T) {
	address := []any{map[string]any{"type": "InternalIP", "address": "10.0.0.9"}}
	cases := map[string]struct {
		status  string
		machine conversion.InfraObservation
		want    map[string]any
	}{
		"nothing":         {status: ``, want: map[string]any{"ready": false}},
		"something else":  {status: `["x"]`, want: map[string]any{"ready": false}},
		"a machine's own": {status: `{}`, machine: conversion.InfraObservation{Ready: true, Addresses: address}, want: map[string]any{"ready": true, "addresses": address}},
		"a failure": {machine: conversion.InfraObservation{FailureReason: "CreateError", FailureMessage: "no room"},
			want: map[string]any{"ready": false, "failureReason": "CreateError", "failureMessage": "no room"}},
		"a machine that was made": {status: `{"instanceId": "1", "conditions": [{"type": "MachineCreation", "status": "True", "reason": "MachineCreationSucceeded", "lastTransitionTime": "` + when + `"}]}`,
			want: map[string]any{"ready": false, "conditions": []any{map[string]any{"type": "VMProvisioned", "status": "True", "lastTransitionTime": when}}}},
		"a machine that could not be made": {status: `{"conditions": [{"type": "IPAddressClaimed", "status": "True"}, {"type": "MachineCreation", "status": "False", "message": "no such template"}]}`,
			want: map[string]any{"ready": false, "conditions": []any{map[string]any{"type": "VMProvisioned", "status": "False", "severity": "Warning",
				"reason": "CloningFailed", "message": "no such template"}}}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got := vsphere.Platform().Status.ToClusterAPI([]byte(c.status), c.machine)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestWhatAVSphereMachineStatusHas(t *testing.T) {
	cases := map[string]struct {
		spec, status string
		want         map[string]any
	}{
		"nothing":           {want: map[string]any{}},
		"something else":    {spec: `7`, status: `{"ready": "yes"}`, want: map[string]any{}},
		"an instance":       {spec: `{"providerID": "vsphere://4237-aa"}`, status: `{"ready": true}`, want: map[string]any{"instanceId": "4237-aa", "instanceState": "poweredOn"}},
		"another's id":      {spec: `{"providerID": "aws:///x/i-1"}`, want: map[string]any{}},
		"still being made":  {status: `{"conditions": [{"type": "VMProvisioned", "status": "False", "reason": "Cloning"}]}`, want: map[string]any{}},
		"made":              {status: `{"conditions": [{"type": "VMProvisioned", "status": "True", "lastTransitionTime": "` + when + `"}]}`, want: map[string]any{"conditions": []any{map[string]any{"type": "MachineCreation", "status": "True", "reason": "MachineCreationSucceeded", "message": "Machine successfully created", "lastTransitionTime": when}}}},
		"not made, for now": {status: `{"conditions": [{"type": "VMProvisioned", "status": "False", "reason": "TaskFailure", "message": "no room"}]}`, want: map[string]any{"conditions": []any{map[string]any{"type": "MachineCreation", "status": "False", "reason": "MachineCreationFailed", "message": "no room"}}}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got := vsphere.Platform().Status.ToMachineAPI([]byte(c.spec), []byte(c.status))
			c.want["kind"], c.want["apiVersion"] = "VSphereMachineProviderStatus", "machine.openshift.io/v1beta1"
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
