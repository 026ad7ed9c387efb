// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/openstack"
)

func TestWhatAnInstanceIsSeenAs(t *testing.T) {
	status := openstack.Platform().Status
	addresses := []any{map[string]any{"type": "InternalIP", "address": "10.0.0.9"}}
	for sentence, c := range map[string]struct {
		provider string
		machine  conversion.InfraObservation
		want     map[string]any
	}{
		"nothing yet":      {"", conversion.InfraObservation{}, map[string]any{"ready": false}},
		"garbage":          {"[", conversion.InfraObservation{}, map[string]any{"ready": false}},
		"one that is made": {`{"instanceId": "x", "instanceState": "BUILD"}`, conversion.InfraObservation{}, map[string]any{"ready": false, "instanceID": "x", "instanceState": "BUILD"}},
		"one that is there": {`{"instanceId": "x", "instanceState": "ACTIVE"}`, conversion.InfraObservation{Ready: true, Addresses: addresses},
			map[string]any{"ready": true, "initialization": map[string]any{"provisioned": true}, "addresses": addresses, "instanceID": "x", "instanceState": "ACTIVE"}},
		"one that the provider id alone has": {"", conversion.InfraObservation{ProviderID: "openstack:///x"}, map[string]any{"ready": false, "instanceID": "x"}},
		"one that failed":                    {"null", conversion.InfraObservation{FailureReason: "CreateError", FailureMessage: "no host"}, map[string]any{"ready": false, "failureReason": "CreateError", "failureMessage": "no host"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if d := cmp.Diff(c.want, status.ToClusterAPI([]byte(c.provider), c.machine)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	for sentence, c := range map[string]struct {
		spec, status string
		want         map[string]any
	}{
		"nothing yet":                {"", "", map[string]any{}},
		"an id in the spec":          {`{"providerID": "openstack:///x"}`, `{}`, map[string]any{"instanceId": "x"}},
		"an id with a region":        {`{"providerID": "openstack://north/x"}`, `{}`, map[string]any{"instanceId": "x"}},
		"an id of another cloud":     {`{"providerID": "aws:///x/y"}`, `{}`, map[string]any{}},
		"an id in the status":        {`{}`, `{"instanceID": "x", "instanceState": "ACTIVE"}`, map[string]any{"instanceId": "x", "instanceState": "ACTIVE"}},
		"something that is no state": {`{}`, `{"instanceState": 1}`, map[string]any{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.want["kind"], c.want["apiVersion"] = "OpenstackProviderStatus", "machine.openshift.io/v1alpha1"
			if d := cmp.Diff(c.want, status.ToMachineAPI([]byte(c.spec), []byte(c.status))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
