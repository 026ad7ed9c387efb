// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/poundlock/poundlock/policies"
)

// TaintGate is the name of Cluster API's feature gate for the taints of Machines. The gate is off by default, and while it is off, Cluster API's webhooks
// refuse every Machine and MachineSet that has a taint.
const TaintGate = "MachineTaintPropagation"

// taintWarning returns the warning about taints of a Machine API object that can be converted but that Cluster API may refuse. The text "so" is the
// consequence. Poundlock cannot read whether the feature gate is on. If the twin has taints, the gate is on, and there is no warning.
func taintWarning(c policies.Change, so string) []string {
	if c.Side != policies.SideMachineAPI || !Tainted(c.New) || Tainted(c.Facts.Twin) || hopeless(c) {
		return nil
	}
	return []string{fmt.Sprintf("%s: Cluster API refuses taints while its feature gate %s is off, which is the default: then %s",
		taintPath(c.Kind), TaintGate, so)}
}

func taintPath(kind string) string {
	if kind == "MachineSet" {
		return "spec.template.spec.taints"
	}
	return "spec.taints"
}

// Tainted reports whether a Machine of either API, or the template of a MachineSet, has taints. Both APIs have taints in the same field.
func Tainted(o *policies.Object) bool {
	type tainted struct {
		Taints []json.RawMessage `json:"taints"`
	}
	var spec struct {
		tainted
		Template struct {
			Spec tainted `json:"spec"`
		} `json:"template"`
	}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Spec), &spec)
	}
	return len(slices.Concat(spec.Taints, spec.Template.Spec.Taints)) > 0
}
