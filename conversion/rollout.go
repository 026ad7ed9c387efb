// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"strings"
)

// WarnOfRollout adds to each error below p's root what must be done before an edit of the providerSpec, if this is a control plane Machine's or the template's
// of control plane Machines. An Active ControlPlaneMachineSet replaces each Machine that differs from the set's template, whether the Machine or the template
// was edited.
func (p *Pass) WarnOfRollout() {
	what := "this is a control plane Machine"
	if p.Core.Template {
		what = "control plane Machines are made from this template"
	}
	// A semicolon, because the text before it may end in a command that a person copies.
	note := fmt.Sprintf("; %s, and an Active ControlPlaneMachineSet replaces each Machine that differs from the set's template. If there is one, first set "+
		"its strategy to OnDelete, then edit the template and every control plane Machine alike, then set the strategy back. To set OnDelete: "+
		`kubectl patch controlplanemachinesets.machine.openshift.io cluster -n %s --type=merge -p '{"spec":{"strategy":{"type":"OnDelete"}}}'`,
		what, p.Env.MachineAPINamespace)
	for _, e := range *p.errs {
		if strings.HasPrefix(e.Field, p.root+".") {
			e.Detail += note // not cut: the text before it is bounded, and may be a command
		}
	}
}
