// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// PauseCondition refuses that a person changes the condition Paused of an object of Cluster API. A move hands the machine over on the strength of it: the other
// API would begin to act while a call of the controllers that were authoritative is still under way. ServiceAccounts are not asked, whichever they are:
// Cluster API's controllers write the condition first in each pass, so that a wrong setting of their identities would stop them.
func PauseCondition(c policies.Change) policies.Verdict {
	if !changesPaused(c) || c.Facts.Twin == nil {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(statusPath.Child("conditions").Key(ConditionPaused), fmt.Sprintf(
		"by this condition the controllers of this %s report that they leave it alone, or act on it again, and a move waits for that: only they write it. "+
			"Leave it as it is, and patch only the other parts of status", c.New.Kind)))
}

// changesPaused reports whether a person adds or changes the condition, or removes it from a paused object: if an object has no such condition, a move assumes
// after a time that its controllers have stopped. On an object that is not paused no move waits for it, and one that somebody wrote while Poundlock was away
// must be removable, because some providers never write it.
func changesPaused(c policies.Change) bool {
	if c.Subresource != "status" || c.Actor != policies.Anyone || c.ByServiceAccount() || c.Old == nil || c.New == nil || Paused(c.Old) == Paused(c.New) {
		return false
	}
	return Paused(c.New) != (Condition{}) || c.Old.HasAnnotation(PausedAnnotation)
}
