// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/powervs"
)

const providerID = "ibmpowervs://dal/dal10/w-1/i-1"

// fullStatus is the status from everything that the Machine API can report.
func fullStatus() map[string]any {
	return powervs.Platform().Status.ToClusterAPI(
		[]byte(`{"instanceId": "i-1", "serviceInstanceID": "w-1", "instanceState": "ACTIVE", "conditions": [{"type": "MachineCreation"}]}`),
		conversion.InfraObservation{Ready: true, Addresses: []any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}},
			FailureReason: "x", FailureMessage: "y"})
}

func TestStatusToClusterAPI(t *testing.T) {
	want := map[string]any{"ready": true, "instanceID": "i-1", "instanceState": "ACTIVE", "failureReason": "x", "failureMessage": "y",
		"addresses": []any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}}}
	if d := cmp.Diff(want, fullStatus()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, raw := range []string{"", "null", "[]", `{"instanceId": 1}`} {
		if d := cmp.Diff(map[string]any{"ready": false}, powervs.Platform().Status.ToClusterAPI([]byte(raw), conversion.InfraObservation{})); d != "" {
			t.Errorf("of %q (-want +got):\n%s", raw, d)
		}
	}
}

// TestALostStatusLeavesNoInstanceBehind: a restored Machine has its provider id alone, and Cluster API's controller terminates the instance that the status
// names.
func TestALostStatusLeavesNoInstanceBehind(t *testing.T) {
	got := powervs.Platform().Status.ToClusterAPI(nil, conversion.InfraObservation{Ready: true, ProviderID: providerID})
	if d := cmp.Diff(map[string]any{"ready": true, "instanceID": "i-1"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestStatusToMachineAPI(t *testing.T) {
	for sentence, c := range map[string]struct {
		spec, status string
		want         machinev1.PowerVSMachineProviderStatus
	}{
		"all of it":                          {`{"providerID": "` + providerID + `"}`, `{"instanceID": "i-1", "instanceState": "BUILD", "health": "OK"}`, providerStatus("i-1", "w-1", "BUILD")},
		"what the provider id alone says":    {`{"providerID": "` + providerID + `"}`, `{}`, providerStatus("i-1", "w-1", "")},
		"the workspace of the spec":          {`{"serviceInstance": {"id": "w-2"}}`, `{"instanceID": "i-1"}`, providerStatus("i-1", "w-2", "")},
		"the same, said in the older way":    {`{"serviceInstanceID": "w-2"}`, `{}`, providerStatus("", "w-2", "")},
		"a provider id of another make":      {`{"providerID": "aws:///a/i-1"}`, `{}`, providerStatus("", "", "")},
		"nothing":                            {``, ``, providerStatus("", "", "")},
		"nothing that can be read":           {`[]`, `"x"`, providerStatus("", "", "")},
		"a provider id that lacks something": {`{"providerID": "ibmpowervs://dal/dal10/w-1"}`, `{}`, providerStatus("", "", "")},
	} {
		t.Run(sentence, func(t *testing.T) {
			raw, err := json.Marshal(powervs.Platform().Status.ToMachineAPI([]byte(c.spec), []byte(c.status)))
			if err != nil {
				t.Fatal(err)
			}
			var got machinev1.PowerVSMachineProviderStatus
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func providerStatus(instance, workspace, state string) machinev1.PowerVSMachineProviderStatus {
	check := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	out := machinev1.PowerVSMachineProviderStatus{InstanceID: check(instance), ServiceInstanceID: check(workspace), InstanceState: check(state)}
	out.SetGroupVersionKind(powervs.Platform().ProviderStatus)
	return out
}
