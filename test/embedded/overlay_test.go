// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"testing"

	"github.com/poundlock/poundlock/test/embedded"
)

func TestEveryKindThatChangesHandsHasTheAuthorityFields(t *testing.T) {
	crds, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, crd := range crds {
		switch crd.Name {
		case "machines.machine.openshift.io", "machinesets.machine.openshift.io", "machinehealthchecks.machine.openshift.io",
			"controlplanemachinesets.machine.openshift.io":
			found++
			rules := 1 // the field may not decrease
			if crd.Name == "machines.machine.openshift.io" || crd.Name == "machinesets.machine.openshift.io" {
				rules = 2 // and may not go, which Poundlock's own additions do not ask: other operators replace the status without it
			}
			schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
			if _, has := schema["spec"].Properties["authoritativeAPI"]; !has {
				t.Errorf("%s: no spec.authoritativeAPI", crd.Name)
			}
			if _, has := schema["status"].Properties["synchronizedGeneration"]; !has || len(schema["status"].XValidations) < rules {
				t.Errorf("%s: no status.synchronizedGeneration, or %d rules of status", crd.Name, len(schema["status"].XValidations))
			}
		}
	}
	if found != 4 {
		t.Errorf("%d kinds, want 4", found)
	}
}
