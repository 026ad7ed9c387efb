// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
)

// TestWhatAnAbsentInfraClusterHasIsUnknown: while the infrastructure cluster object does not exist, nobody knows its values. So no message says that a value must
// equal one of them, such as load balancers that are "none".
func TestWhatAnAbsentInfraClusterHasIsUnknown(t *testing.T) {
	type key struct {
		platform string
		control  bool
	}
	patches := map[key]string{
		{"AWS", true}:     `{"loadBalancers": [{"name": "a", "type": "network"}]}`,
		{"Azure", false}:  `{"publicLoadBalancer": "a"}`,
		{"Azure", true}:   `{"publicLoadBalancer": "a", "internalLoadBalancer": "b"}`,
		{"GCP", false}:    `{"networkInterfaces": [{"network": "n", "subnetwork": "s", "projectID": "host"}]}`,
		{"PowerVS", true}: `{"loadBalancers": [{"name": "a", "type": "Application"}]}`,
	}
	unknown := map[key][]string{
		{"AWS", true}: {"loadBalancers"}, {"Azure", false}: {"publicLoadBalancer"}, {"Azure", true}: {"internalLoadBalancer", "publicLoadBalancer"},
		{"GCP", false}: {"networkInterfaces[0].projectID"}, {"PowerVS", true}: {"loadBalancers"},
	}
	judge := func(t *testing.T, p *conversion.Pass, want []string) {
		t.Helper()
		kind := p.Env.Platform.InfraCluster.Kind
		var got []string
		for _, e := range p.Errors() {
			if strings.Contains(e.Detail, "must equal") && strings.Contains(e.Detail, kind) {
				t.Errorf("%s: %s", e.Field, e.Detail)
			}
			if strings.Contains(e.Detail, "because the "+kind+" does not exist: create the "+kind) && strings.Contains(e.Detail, "cannot be compared") {
				got = append(got, e.Field)
			}
		}
		conversiontest.Advised(t, p.Errors())
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("unknown are %q, want %q: %v", got, want, p.Errors().ToAggregate())
		}
	}
	for _, k := range platformstest.Kits() {
		for _, control := range []bool{false, true} {
			raw, err := json.Marshal(k.ProviderSpec)
			if err != nil {
				t.Fatal(err)
			}
			if control && k.Master != nil {
				master, err := json.Marshal(k.Master)
				if err != nil {
					t.Fatal(err)
				}
				raw = conversiontest.Patched(t, raw, string(master))
			}
			if patch := patches[key{k.Platform.Name, control}]; patch != "" {
				raw = conversiontest.Patched(t, raw, patch)
			}
			env := k.Env()
			env.InfraCluster = nil
			t.Run(k.Platform.Name, func(t *testing.T) {
				p := conversion.NewPass(&env, &conversion.Core{ControlPlane: control}, "")
				conversiontest.ToClusterAPI(p, raw)
				judge(t, p, unknown[key{k.Platform.Name, control}])
			})
		}
	}
	t.Run("a thumbprint", func(t *testing.T) {
		k, err := platformstest.Named("VSphere")
		if err != nil {
			t.Fatal(err)
		}
		env := k.Env()
		env.InfraCluster = nil
		p := conversion.NewPass(&env, &conversion.Core{}, "")
		conversiontest.ToMachineAPI(p, []byte(`{"thumbprint": "AA:BB"}`))
		judge(t, p, []string{"thumbprint"})
	})
}
