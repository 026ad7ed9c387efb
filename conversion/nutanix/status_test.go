// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/nutanix"
)

// fullStatus is the status from everything that the Machine API can report.
func fullStatus() map[string]any {
	return nutanix.Platform().Status.ToClusterAPI([]byte(`{"vmUUID": "u", "conditions": [{"type": "x"}]}`),
		conversion.InfraObservation{Ready: true, Addresses: []any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}},
			FailureReason: "x", FailureMessage: "y"})
}

func TestStatus(t *testing.T) {
	value := map[string]any{"kind": "NutanixMachineProviderStatus", "apiVersion": "machine.openshift.io/v1"}
	with := map[string]any{"kind": value["kind"], "apiVersion": value["apiVersion"], "vmUUID": "u"}
	for sentence, c := range map[string]struct{ got, want map[string]any }{
		"to Cluster API": {fullStatus(), map[string]any{"ready": true, "vmUUID": "u", "failureReason": "x", "failureMessage": "y",
			"addresses": []any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}}}},
		"to Cluster API, of the provider id, where the status is lost": {nutanix.Platform().Status.ToClusterAPI(nil, conversion.InfraObservation{ProviderID: "nutanix://u"}), map[string]any{"ready": false, "vmUUID": "u"}},
		"to Cluster API, of nothing":                                   {nutanix.Platform().Status.ToClusterAPI(nil, conversion.InfraObservation{}), map[string]any{"ready": false}},
		"to Cluster API, of garbage":                                   {nutanix.Platform().Status.ToClusterAPI([]byte(`[]`), conversion.InfraObservation{}), map[string]any{"ready": false}},
		"to Machine API":                                               {nutanix.Platform().Status.ToMachineAPI([]byte(`{"providerID": "nutanix://x"}`), []byte(`{"vmUUID": "u"}`)), with},
		"to Machine API, of the provider id":                           {nutanix.Platform().Status.ToMachineAPI([]byte(`{"providerID": "nutanix://u"}`), nil), with},
		"to Machine API, of a provider id of elsewhere":                {nutanix.Platform().Status.ToMachineAPI([]byte(`{"providerID": "aws:///a/u"}`), nil), value},
		"to Machine API, of nothing":                                   {nutanix.Platform().Status.ToMachineAPI(nil, nil), value},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, d)
		}
	}
}
