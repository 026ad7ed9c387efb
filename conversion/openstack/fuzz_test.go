// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"math/rand/v2"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/openstack/openstacktest"
)

// noise is what users and broken tools write instead of an object; testdata/fuzz has more.
var noise = []string{"", "null", "[]", "{", `"x"`, `{"kind": 1}`, `{"networks": [null]}`, `{"ports": [null, {"fixedIPs": [null], "securityGroups": null}]}`}

// FuzzProviderSpec: any input gives errors, never a panic. What converts round-trips, and converts to the same again.
func FuzzProviderSpec(f *testing.F) {
	kit, r := openstacktest.Kit(), rand.New(rand.NewPCG(1, 0))
	for _, seed := range append(noise, plain, jsonOf(f, kit.AnyProviderSpec(r)), jsonOf(f, kit.AnyProviderSpec(r)), jsonOf(f, kit.AnyProviderSpec(r))) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		travel(t, raw, conversiontest.ToClusterAPI, conversiontest.ToMachineAPI)
	})
}

// FuzzInfraSpec: the same in the other direction.
func FuzzInfraSpec(f *testing.F) {
	kit, r := openstacktest.Kit(), rand.New(rand.NewPCG(1, 0))
	for _, seed := range append(noise, plainInfra, jsonOf(f, kit.AnyInfraSpec(r)), jsonOf(f, kit.AnyInfraSpec(r)), jsonOf(f, kit.AnyInfraSpec(r))) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		travel(t, raw, conversiontest.ToMachineAPI, conversiontest.ToClusterAPI)
	})
}

func travel(t *testing.T, raw []byte, there, back func(*conversion.Pass, []byte) any) {
	env, secret := openstacktest.Kit().Env(), "worker-user-data"
	core := &conversion.Core{BootstrapSecret: &secret}
	convert := func(raw []byte, convert func(*conversion.Pass, []byte) any) (string, bool) {
		p := conversion.NewPass(&env, core, "")
		out := jsonOf(t, convert(p, raw))
		return out, len(p.Errors()) == 0
	}
	went, ok := convert(raw, there)
	if again, _ := convert(raw, there); went != again {
		t.Errorf("equal input, two outputs:\n%s\n%s", went, again)
	}
	if !ok {
		return
	}
	came, ok := convert([]byte(went), back)
	if !ok {
		t.Fatalf("accepted, and cannot come back: %s", went)
	}
	if again, ok := convert([]byte(came), there); !ok || again != went {
		t.Errorf("goes another way the second time:\n%s\n%s\n%s", went, came, again)
	}
}
