// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestLost tests which Machines have no instance any more. That follows from what Machine API's controllers write, and from what the mirror copies from Cluster
// API's.
func TestLost(t *testing.T) {
	const gone = `{"type":"InstanceExists","status":"False","reason":"InstanceMissing"}`
	for sentence, c := range map[string]struct {
		status string
		lost   bool
	}{
		"it runs":                                {`"phase":"Running","conditions":[{"type":"InstanceExists","status":"True"}]`, false},
		"Machine API lost its instance":          {`"authoritativeAPI":"MachineAPI","phase":"Failed","errorMessage":"can't find created instance","conditions":[` + gone + `]`, true},
		"it never had one":                       {`"authoritativeAPI":"MachineAPI","phase":"Failed","errorReason":"InvalidConfiguration","conditions":[{"type":"InstanceExists","status":"False","reason":"InstanceNotCreated"}]`, true},
		"Cluster API's instance ended":           {`"authoritativeAPI":"ClusterAPI","phase":"Failed","errorReason":"UpdateError","conditions":[{"type":"InstanceExists","status":"False","reason":"InstanceTerminated"}]`, true},
		"newer Cluster API's instance ended":     {`"authoritativeAPI":"ClusterAPI","phase":"Running","errorReason":"UpdateError","conditions":[{"type":"InstanceExists","status":"False","reason":"InstanceTerminated"}]`, true},
		"Machine API looks once more":            {`"authoritativeAPI":"MachineAPI","phase":"Running","errorReason":"UpdateError","conditions":[` + gone + `]`, false},
		"it has an error, and its instance runs": {`"authoritativeAPI":"ClusterAPI","phase":"Running","errorReason":"UpdateError","conditions":[{"type":"InstanceExists","status":"True"}]`, false},
		"it failed, and its instance runs":       {`"authoritativeAPI":"ClusterAPI","phase":"Failed","conditions":[{"type":"InstanceExists","status":"True"}]`, false},
		"it failed, and nobody could look":       {`"phase":"Failed","conditions":[{"type":"InstanceExists","status":"Unknown"}]`, false},
		"it failed, and says no more":            {`"phase":"Failed"`, false},
		"a cloud does not show it yet":           {`"phase":"Provisioning","conditions":[` + gone + `]`, false},
		"Cluster API's instance is stopped":      {`"authoritativeAPI":"ClusterAPI","phase":"Running","conditions":[{"type":"InstanceExists","status":"False","reason":"InstanceStopped"}]`, false},
	} {
		want := []string(nil)
		if c.lost {
			want = []string{"m"}
		}
		if diff := cmp.Diff(want, authority.Lost([]*policies.Object{parsed(t, `{"metadata":{"name":"m"},"status":{`+c.status+`}}`)})); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}
