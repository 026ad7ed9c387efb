// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
)

func TestTheSpecOfAVSphereVM(t *testing.T) {
	env := &conversion.Env{InfraCluster: map[string]any{"spec": map[string]any{"server": "vcenter.example"}}}
	for sentence, c := range map[string]struct {
		machine       map[string]any
		failureDomain string
		want          map[string]any
	}{
		"all that the machine has but what is the machine's alone, and the ID": {
			machine: map[string]any{"template": "rhcos", "server": "other.example", "folder": "/dc/vm/f", "namingStrategy": map[string]any{}, "failureDomain": "fd",
				"providerID": "vsphere://4210-1"},
			want: map[string]any{"template": "rhcos", "server": "other.example", "folder": "/dc/vm/f", "biosUUID": "4210-1"},
		},
		"the cluster's server": {
			machine: map[string]any{"template": "rhcos", "providerID": "vsphere://4210-1"},
			want:    map[string]any{"template": "rhcos", "server": "vcenter.example", "biosUUID": "4210-1"},
		},
		"no ID yet":                        {machine: map[string]any{"template": "rhcos"}},
		"an ID that is not vSphere's":      {machine: map[string]any{"template": "rhcos", "providerID": "aws:///a/i-1"}},
		"an empty ID":                      {machine: map[string]any{"template": "rhcos", "providerID": "vsphere://"}},
		"a failure domain, which decides":  {machine: map[string]any{"template": "rhcos", "providerID": "vsphere://4210-1"}, failureDomain: "fd"},
		"an ID that is no text, as a user": {machine: map[string]any{"providerID": 1}},
	} {
		if diff := cmp.Diff(c.want, instanceSpec(env, c.machine, c.failureDomain)); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}
