// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"strings"
)

// WarnOfRollout adds a warning to each error below p's root if the object is a control plane Machine, or the template of control plane Machines. The warning
// says what must be done before the providerSpec is edited. It is necessary because an Active ControlPlaneMachineSet replaces each Machine that differs from
// the set's template, no matter whether the Machine or the template was edited.
func (p *Pass) WarnOfRollout() {
	what := "this is a control plane Machine"
	if p.Core.Template {
		what = "this template is for control plane Machines"
	}
	// The text begins with a semicolon, because the text before it may end in a command that a person copies.
	note := fmt.Sprintf("; %s, and an Active ControlPlaneMachineSet replaces each Machine that differs from its template. If there is such a "+
		"ControlPlaneMachineSet, first set its strategy to OnDelete. Then make the same edit in its template and in every control plane Machine. Then set "+
		"the strategy back. To set OnDelete: kubectl patch controlplanemachinesets.machine.openshift.io cluster -n %s --type=merge -p "+
		`'{"spec":{"strategy":{"type":"OnDelete"}}}'`,
		what, p.Env.MachineAPINamespace)
	for _, e := range *p.errs {
		if strings.HasPrefix(e.Field, p.root+".") {
			e.Detail += note // not cut: the text before it is bounded, and may be a command
		}
	}
}
