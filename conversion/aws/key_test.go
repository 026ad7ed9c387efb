// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// If an AWSMachine names no SSH key, the provider uses the AWSCluster's, or one called default. Machine API uses none.
func TestTheSSHKeyIsThatOfTheInstance(t *testing.T) {
	elsewhere := map[string]any{"annotations": map[string]any{"cluster.x-k8s.io/managed-by": "cluster-capi-operator-infracluster-controller"}}
	for sentence, c := range map[string]struct {
		metadata map[string]any
		cluster  any // the AWSCluster's key
		// there and back, nil for absent
		machineAPI, clusterAPI, back *string
	}{
		"none, and the AWSCluster has none":                 {elsewhere, nil, nil, nil, nil},
		"none, and the AWSCluster has one":                  {elsewhere, "theirs", nil, new(""), nil},
		"none, and the AWSCluster says that it has none":    {nil, "", nil, nil, nil},
		"none, and the provider looks after the AWSCluster": {nil, nil, nil, new(""), nil},
		"an empty one": {elsewhere, nil, new(""), nil, nil},
		"an empty one, and the AWSCluster has one":            {elsewhere, "theirs", new(""), new(""), nil},
		"the AWSCluster's":                                    {elsewhere, "theirs", new("theirs"), nil, new("theirs")},
		"one of its own":                                      {elsewhere, "theirs", new("mine"), new("mine"), new("mine")},
		"the one that the provider would take without a word": {nil, nil, new("default"), nil, new("default")},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := testEnv()
			env.InfraCluster["metadata"] = c.metadata
			if c.cluster != nil {
				env.InfraCluster["spec"].(map[string]any)["sshKeyName"] = c.cluster
			}
			p := conversion.NewPass(env, &conversion.Core{}, "")
			var m providerSpec
			if !p.Decode([]byte(plain), &m) {
				t.Fatal(p.Errors())
			}
			m.KeyName = c.machineAPI
			var there infraSpec
			Fields.ToClusterAPI(p, &m, &there)
			var back providerSpec
			Fields.ToMachineAPI(p, &there, &back)
			conversiontest.Same(t, nil, p.Errors())
			if !same(there.SSHKeyName, c.clusterAPI) || !same(back.KeyName, c.back) {
				t.Errorf("there it is %s, and back %s", said(there.SSHKeyName), said(back.KeyName))
			}
		})
	}
}

// AWS refuses an empty name, which the installer writes into Cluster API for none.
func TestAnEmptySSHKeyComesBackAsNone(t *testing.T) {
	p := conversion.NewPass(testEnv(), &conversion.Core{}, "")
	back := conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, `{"sshKeyName": ""}`)).(*providerSpec)
	conversiontest.Same(t, nil, p.Errors())
	if back.KeyName != nil {
		t.Errorf("its name is %q", *back.KeyName)
	}
}

func same(a, b *string) bool { return said(a) == said(b) }

func said(s *string) string {
	if s == nil {
		return "absent"
	}
	return `"` + *s + `"`
}
