// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"encoding/json"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

var noise = []string{"", "null", "[]", "{", `"x"`, `{"kind": 1}`, `{"network": null}`, `{"network": {"devices": [null]}}`,
	`{"network": {"devices": [{"ipAddrs": [null], "addressesFromPools": [null]}]}}`,
	`{"workspace": {}}`, `{"dataDisks": [null, {"name": "a"}]}`, `{"tagIDs": [null]}`, `{"customVMXKeys": {"": ""}}`, `{"failureDomain": ""}`,
	`{"resources": {"requests": {"cpu": "-1"}}}`, `{"guestSoftPowerOffTimeout": "x"}`}

// FuzzProviderSpec: any input gives errors, never a panic. What converts round-trips, and converts to the same again.
func FuzzProviderSpec(f *testing.F) {
	for _, seed := range append(noise, plain) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { fuzz(t, raw, conversiontest.ToClusterAPI, conversiontest.ToMachineAPI) })
}

// FuzzInfraSpec: the same in the other direction.
func FuzzInfraSpec(f *testing.F) {
	for _, seed := range append(noise, plainInfra) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { fuzz(t, raw, conversiontest.ToMachineAPI, conversiontest.ToClusterAPI) })
}

func fuzz(t *testing.T, raw []byte, there, back func(*conversion.Pass, []byte) any) {
	env, secret := zoned("a", "c"), "worker-user-data"
	core := &conversion.Core{ProviderID: "vsphere://1", BootstrapSecret: &secret}
	convert := func(raw []byte, convert func(*conversion.Pass, []byte) any) ([]byte, bool) {
		p := conversion.NewPass(&env, core, "")
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
