// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// PauseCondition refuses that a person changes the condition Paused of a Cluster API object. A move takes this condition for the controllers' acknowledgement:
// if a person wrote it, the other API would begin to act while a call of the controllers that were authoritative is still under way. It allows every
// ServiceAccount: Cluster API's controllers write the condition first in each reconciliation, so a refusal because of a wrongly set identity would stop them.
func PauseCondition(c policies.Change) policies.Verdict {
	if !changesPaused(c) || c.Facts.Twin == nil {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(statusPath.Child("conditions").Key(ConditionPaused), fmt.Sprintf(
		"the controllers of this %s report by this condition whether they are paused, and a move waits for this report, so only these controllers write the "+
			"condition. Leave the condition as it is, and patch only the other parts of status", c.New.Kind)))
}

// changesPaused reports whether a person adds or changes the condition Paused, or removes it from a paused object. The removal matters because a move assumes
// after a time that the controllers of an object without this condition have stopped. On an object that is not paused, no move waits for the condition. From
// such an object a person may remove it: some providers never write it, so a condition that somebody wrote while Poundlock was away would otherwise stay.
func changesPaused(c policies.Change) bool {
	if c.Subresource != "status" || c.Actor != policies.Anyone || c.ByServiceAccount() || c.Old == nil || c.New == nil || Paused(c.Old) == Paused(c.New) {
		return false
	}
	return Paused(c.New) != (Condition{}) || c.Old.HasAnnotation(PausedAnnotation)
}
