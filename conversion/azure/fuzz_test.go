// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// FuzzProviderSpec: any input gives errors, never a panic. What converts round-trips, and converts to the same again. The seeds and former findings are in
// testdata/fuzz.
func FuzzProviderSpec(f *testing.F) {
	f.Add(plain(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		thereAndBack(t, raw, conversiontest.ToClusterAPI, conversiontest.ToMachineAPI)
	})
}

// FuzzInfraSpec: the same in the other direction.
func FuzzInfraSpec(f *testing.F) {
	f.Add([]byte(plainInfra))
	f.Fuzz(func(t *testing.T, raw []byte) {
		thereAndBack(t, raw, conversiontest.ToMachineAPI, conversiontest.ToClusterAPI)
	})
}

func thereAndBack(t *testing.T, raw []byte, there, back func(*conversion.Pass, []byte) any) {
	env, secret := envOf(), "worker-user-data"
	core := &conversion.Core{BootstrapSecret: &secret}
	convert := func(raw []byte, to func(*conversion.Pass, []byte) any) (string, bool) {
		p := conversion.NewPass(env, core, "")
		out := to(p, raw)
		if len(p.Errors()) > 0 {
			return p.Errors().ToAggregate().Error(), false
		}
		return jsonOf(t, out), true
	}
	went, ok := convert(raw, there)
	if again, _ := convert(raw, there); went != again {
		t.Errorf("equal input gave two outputs:\n%s\n%s", went, again)
	}
	if !ok {
		return
	}
	came, ok := convert([]byte(went), back)
	if !ok {
		t.Fatalf("accepted, and cannot come back: %s\nvia %s", came, went)
	}
	if again, ok := convert([]byte(came), there); !ok || again != went {
		t.Errorf("went another way the second time:\n%s\n%s", went, again)
	}
}

// TestWhatIsNoSpecIsAnError: garbage, null, a list, another kind, and very large input.
func TestWhatIsNoSpecIsAnError(t *testing.T) {
	much := strings.Repeat(`{"nameSuffix": "a", "diskSizeGB": 4, "lun": 99},`, 20000)
	deep := strings.Repeat(`{"image":`, 20000) + "1" + strings.Repeat("}", 20000)
	for what, raw := range map[string]string{
		"nothing": "", "null": "null", "a list": "[]", "half an object": "{", "a word": `"x"`, "an empty object": "{}",
		"nulls everywhere": `{"kind": "AzureMachineProviderSpec", "image": null, "osDisk": null, "dataDisks": [null], "tags": {"a": null}, "securityProfile": {"settings": {"trustedLaunch": null}}, "networkInterfaces": [null], "userAssignedIdentities": [null], "vmExtensions": [null]}`,
		"20,000 disks":     `{"kind": "AzureMachineProviderSpec", "apiVersion": "machine.openshift.io/v1beta1", "dataDisks": [` + much + `{}]}`,
		"20,000 levels":    deep,
		"another platform": `{"kind": "AWSMachineProviderConfig", "apiVersion": "machine.openshift.io/v1beta1", "ami": {"id": "ami-1"}}`,
	} {
		t.Run(what, func(t *testing.T) {
			for _, convert := range []func(*conversion.Pass, []byte) any{conversiontest.ToClusterAPI, conversiontest.ToMachineAPI} {
				p := conversion.NewPass(envOf(), &conversion.Core{}, "")
				convert(p, []byte(raw))
				if len(p.Errors()) == 0 {
					t.Error("was taken")
				}
			}
		})
	}
}

// TestAnUnknownClusterIsAnError: no content of the AzureCluster and the Infrastructure causes a panic, and a spec that must be compared with them is refused.
func TestAnUnknownClusterIsAnError(t *testing.T) {
	for _, content := range []string{
		"null", "{}", `{"spec": null}`, `{"spec": "x", "status": 1}`,
		`{"spec": {"networkSpec": {"vnet": 1, "subnets": {"a": 1}, "apiServerLB": []}, "additionalTags": ["a"], "location": 1}, "status": {"platformStatus": {"azure": {"resourceTags": [1, null, {"key": 1}], "resourceGroupName": []}}}}`,
		`{"spec": {"networkSpec": {"subnets": [null, 1, {"name": {}, "securityGroup": "x"}]}}, "status": {"platformStatus": {"azure": {"resourceTags": {}}}}}`,
	} {
		env := envOf()
		for _, into := range []*map[string]any{&env.InfraCluster, &env.Infrastructure} {
			*into = nil
			if err := json.Unmarshal([]byte(content), into); err != nil {
				t.Fatal(err)
			}
		}
		for _, convert := range []func(*conversion.Pass){
			func(p *conversion.Pass) { conversiontest.ToClusterAPI(p, plain(t)) },
			func(p *conversion.Pass) { conversiontest.ToMachineAPI(p, []byte(plainInfra)) },
		} {
			p := conversion.NewPass(env, &conversion.Core{}, "")
			if convert(p); len(p.Errors()) == 0 {
				t.Errorf("was taken in a cluster of which %s is known", content)
			}
		}
	}
}
