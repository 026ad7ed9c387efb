// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/gcp"
)

func TestStatusToClusterAPI(t *testing.T) {
	addresses := []any{map[string]any{"type": "InternalIP", "address": "10.0.0.2"}}
	for sentence, c := range map[string]struct {
		provider string
		machine  conversion.InfraObservation
		want     map[string]any
	}{
		"nothing seen yet": {``, conversion.InfraObservation{}, map[string]any{"ready": false}},
		"an instance that runs": {`{"kind": "GCPMachineProviderStatus", "instanceId": "x", "instanceState": "RUNNING", "conditions": [{"type": "MachineCreated"}]}`,
			conversion.InfraObservation{Ready: true, Addresses: addresses},
			map[string]any{"ready": true, "addresses": addresses, "instanceState": "RUNNING"}},
		"an instance that failed": {`{"instanceState": "TERMINATED"}`, conversion.InfraObservation{FailureReason: "UpdateError", FailureMessage: "gone"},
			map[string]any{"ready": false, "instanceState": "TERMINATED", "failureReason": "UpdateError", "failureMessage": "gone"}},
		"what cannot be read": {`[]`, conversion.InfraObservation{}, map[string]any{"ready": false}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := gcp.Platform().Status.ToClusterAPI([]byte(c.provider), c.machine)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			machine := gcpMachine(map[string]any{"instanceType": "x"})
			machine["status"] = got
			serverOf(t, "gcpmachines").accept(t, machine)
		})
	}
}

func TestStatusToMachineAPI(t *testing.T) {
	with := func(more map[string]any) map[string]any {
		more["kind"], more["apiVersion"] = "GCPMachineProviderStatus", "machine.openshift.io/v1beta1"
		return more
	}
	for sentence, c := range map[string]struct {
		spec, status string
		want         map[string]any
	}{
		"nothing seen yet":      {`{}`, `{}`, with(map[string]any{})},
		"an instance that runs": {`{"providerID": "gce://p/us-central1-a/x"}`, `{"ready": true, "instanceState": "RUNNING"}`, with(map[string]any{"instanceId": "x", "instanceState": "RUNNING"})},
		"an id of another kind": {`{"providerID": "aws:///a/i-1"}`, `{"instanceState": "STAGING"}`, with(map[string]any{"instanceState": "STAGING"})},
		"what cannot be read":   {`[]`, `{`, with(map[string]any{})},
	} {
		t.Run(sentence, func(t *testing.T) {
			if d := cmp.Diff(c.want, gcp.Platform().Status.ToMachineAPI([]byte(c.spec), []byte(c.status))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
