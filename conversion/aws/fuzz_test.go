// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

var noise = []string{"", "null", "[]", "{", `"x"`, `{"kind": 1}`, `{"tags": [null]}`, `{"blockDevices": [{"ebs": null}, null]}`, `{"placement": {"host": {}}}`,
	`{"subnet": {"filters": [null]}}`, `{"additionalTags": {"": ""}}`, `{"nonRootVolumes": [null]}`, `{"ignition": {}}`, `{"instanceMetadataOptions": {}}`,
	`{"spotMarketOptions": {}}`}

// FuzzProviderSpec: any input gives errors, never a panic. What converts round-trips, and converts to the same again.
func FuzzProviderSpec(f *testing.F) {
	for _, seed := range append(noise, plain) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		thereAndBack(t, raw, conversiontest.ToClusterAPI, conversiontest.ToMachineAPI)
	})
}

// FuzzInfraSpec: the same in the other direction.
func FuzzInfraSpec(f *testing.F) {
	for _, seed := range append(noise, plainInfra) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		thereAndBack(t, raw, conversiontest.ToMachineAPI, conversiontest.ToClusterAPI)
	})
}

func thereAndBack(t *testing.T, raw []byte, there, back func(*pass, []byte) any) {
	env, secret := testEnv(), "worker-user-data"
	core := &conversion.Core{BootstrapSecret: &secret}
	convert := func(raw []byte, convert func(*pass, []byte) any) ([]byte, bool) {
		p := conversion.NewPass(env, core, "")
		out, _ := json.Marshal(convert(p, raw))
		return out, len(p.Errors()) == 0
	}
	went, ok := convert(raw, there)
	if again, _ := convert(raw, there); string(went) != string(again) {
		t.Errorf("equal input, two outputs:\n%s\n%s", went, again)
	}
	if !ok {
		return
	}
	came, ok := convert(went, back)
	if !ok {
		t.Fatalf("accepted, and cannot come back: %s", went)
	}
	if again, ok := convert(came, there); !ok || string(again) != string(went) {
		t.Errorf("goes another way the second time:\n%s\n%s", went, again)
	}
}
