// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp_test

import (
	"bytes"
	"encoding/json"
	"testing"

	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
	"sigs.k8s.io/cluster-api-provider-gcp/webhooks"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/gcp/gcptest"
)

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// FuzzProviderSpec: any input gives errors, never a panic; equal input has equal output. What converts round-trips, and converts to the same again.
func FuzzProviderSpec(f *testing.F) {
	f.Add(plain(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		env := gcptest.Kit().Env()
		to := func(raw []byte) (any, *conversion.Core, error) {
			core := &conversion.Core{}
			p := conversion.NewPass(&env, core, "spec.providerSpec.value")
			spec := conversiontest.ToClusterAPI(p, raw)
			return spec, core, p.Errors().ToAggregate()
		}
		spec, core, err := to(raw)
		again, _, errAgain := to(raw)
		if !bytes.Equal(jsonOf(t, spec), jsonOf(t, again)) || (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Errorf("equal input, and another output:\n%s\n%s\n%v\n%v", jsonOf(t, spec), jsonOf(t, again), err, errAgain)
		}
		if err != nil {
			return
		}
		p := conversion.NewPass(&env, core, "GCPMachine.spec")
		back := conversiontest.ToMachineAPI(p, jsonOf(t, spec))
		if errs := p.Errors(); len(errs) > 0 {
			t.Fatalf("accepted, and cannot come back: %v", errs.ToAggregate())
		}
		if third, _, err := to(jsonOf(t, back)); err != nil || !bytes.Equal(jsonOf(t, spec), jsonOf(t, third)) {
			t.Errorf("came back, and goes another way: %v\n%s\n%s", err, jsonOf(t, spec), jsonOf(t, third))
		}
	})
}

// FuzzInfraSpec: the same from the other side. What converts round-trips to a GCPMachine that the provider's webhook, which makes it immutable, accepts.
func FuzzInfraSpec(f *testing.F) {
	f.Add([]byte(plainInfra))
	f.Fuzz(func(t *testing.T, raw []byte) {
		env := gcptest.Kit().Env()
		core := &conversion.Core{FailureDomain: gcptest.Zone, BootstrapSecret: new("worker-user-data")}
		p := conversion.NewPass(&env, core, "GCPMachine.spec")
		spec := conversiontest.ToMachineAPI(p, raw)
		if len(p.Errors()) > 0 {
			return
		}
		p = conversion.NewPass(&env, core, "spec.providerSpec.value")
		back, ok := conversiontest.ToClusterAPI(p, jsonOf(t, spec)).(*infraSpec)
		if errs := p.Errors(); len(errs) > 0 || !ok {
			t.Fatalf("accepted, and cannot go back: %v", errs.ToAggregate())
		}
		born, now := &gcpv1.GCPMachine{}, &gcpv1.GCPMachine{Spec: *back}
		if err := json.Unmarshal(raw, &born.Spec); err != nil {
			t.Fatal(err)
		}
		if born.Spec.PublicIP != nil && !*born.Spec.PublicIP { // means the same as none, and so do the next two
			born.Spec.PublicIP = nil
		}
		if s := born.Spec.ShieldedInstanceConfig; s != nil && *s == (gcpv1.GCPShieldedInstanceConfig{}) {
			born.Spec.ShieldedInstanceConfig = nil
		}
		if model := born.Spec.ProvisioningModel; model != nil && *model == gcpv1.ProvisioningModelStandard {
			born.Spec.ProvisioningModel = nil
		}
		if born.Spec.IPForwarding == nil { // the CRD's default
			born.Spec.IPForwarding = new(gcpv1.IPForwardingEnabled)
		}
		if _, err := new(webhooks.GCPMachine).ValidateUpdate(t.Context(), born, now); err != nil {
			t.Errorf("came back another: %v\n%s\n%s", err, jsonOf(t, born.Spec), jsonOf(t, now.Spec))
		}
	})
}
