// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/azure"
	"github.com/poundlock/poundlock/conversion/azure/azuretest"
)

func TestStatusGoes(t *testing.T) {
	address := []any{map[string]any{"type": "InternalIP", "address": "10.0.0.4"}}
	cases := map[string]struct {
		status  string
		machine conversion.InfraObservation
		want    map[string]any
	}{
		"a machine that runs": {
			status:  `{"vmId": "/subscriptions/x", "vmState": "Running", "conditions": [{"type": "MachineCreated", "status": "True"}]}`,
			machine: conversion.InfraObservation{Ready: true, Addresses: address},
			want:    map[string]any{"ready": true, "addresses": address, "vmState": "Succeeded"},
		},
		"a machine that is made":     {status: `{"vmState": "Creating"}`, want: map[string]any{"ready": false, "vmState": "Creating"}},
		"a machine that was stopped": {status: `{"vmState": "Deallocated"}`, want: map[string]any{"ready": false, "vmState": "Succeeded"}},
		"a machine that failed": {
			machine: conversion.InfraObservation{FailureReason: "CreateError", FailureMessage: "no such size"},
			want:    map[string]any{"ready": false, "failureReason": "CreateError", "failureMessage": "no such size"},
		},
		"what cannot be read": {status: `{"vmState": 1}`, want: map[string]any{"ready": false}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got := azure.Platform().Status.ToClusterAPI([]byte(c.status), c.machine)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestStatusComesBack(t *testing.T) {
	cases := map[string]struct {
		spec, status string
		want         map[string]any
	}{
		"a machine that runs":          {spec: `{"providerID": "` + azuretest.Instance + `"}`, status: `{"ready": true, "vmState": "Succeeded"}`, want: map[string]any{"vmId": azuretest.Instance[len("azure://"):], "vmState": "Succeeded"}},
		"a state of Cluster API alone": {spec: `{}`, status: `{"vmState": "Canceled"}`, want: map[string]any{}},
		"an id of another cloud":       {spec: `{"providerID": "aws:///x"}`, status: `{"vmState": "Failed"}`, want: map[string]any{"vmState": "Failed"}},
		"what cannot be read":          {spec: "[", status: "", want: map[string]any{}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			c.want["kind"], c.want["apiVersion"] = "AzureMachineProviderStatus", "machine.openshift.io/v1beta1"
			got := azure.Platform().Status.ToMachineAPI([]byte(c.spec), []byte(c.status))
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		})
	}
}
