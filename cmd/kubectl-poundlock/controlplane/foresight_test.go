// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// The table, the fields and the steps agree on who does something about a Machine.
func TestWhoReplacesAMachine(t *testing.T) {
	for of, c := range map[machinev1.ControlPlaneMachineSetStrategyType]struct{ is, isNot string }{
		machinev1.RollingUpdate: {"is outdated: replaced\n", "once a person deletes it"},
		machinev1.OnDelete:      {"is outdated: replaced once a person deletes it\n", "is outdated: replaced\n"},
	} {
		var out bytes.Buffer
		foresight{Output: printers.OutputOf(&out, func(string) string { return "" })}.write(ReportOf("cluster", three(larger, strategy(of))))
		if !strings.Contains(out.String(), c.is) || strings.Contains(out.String(), c.isNot) ||
			strings.Contains(out.String(), "Machine is replaced once a person deletes it\n") != (of == machinev1.OnDelete) {
			t.Errorf("%s:\n%s", of, out.String())
		}
	}
}

// The zones of Azure are numbers.
func TestAZoneThatIsANumber(t *testing.T) {
	for zone, want := range map[string]string{"1": " in zone 1.", "us-east-1a": " in us-east-1a.", "": " at index 0."} {
		got := foresight{}.action(ForecastStep{Verb: string(controlplane.Create), Index: new(int), FailureDomain: zone, Machine: "m"})
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q: %q", zone, got)
		}
	}
}
