// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/poundlock/poundlock/policies"
)

// TaintGate is Cluster API's feature gate for the taints of Machines. It is off by default. With it off, Cluster API's webhooks refuse every Machine and
// MachineSet that has a taint.
const TaintGate = "MachineTaintPropagation"

// taintWarning warns of taints that can be converted but that Cluster API may refuse. Poundlock cannot read whether the gate is on. A twin that has taints
// shows that it is.
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

// Tainted reports whether a Machine of either API, or the template of a MachineSet, has taints. Both have them in the same place.
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
