// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// PauseCondition refuses that anybody but an object's own controllers changes its condition Paused. A move hands the machine over on the strength of it: the
// other API would begin to act while a call of the controllers that were authoritative is still under way. Removing it from a paused object is refused too: if
// an object has no such condition, a move assumes after a time that its controllers have stopped. On an object that is not paused no move waits for the
// condition, and one that somebody has written while Poundlock was away must be removable: some providers never write it.
func PauseCondition(c policies.Change) policies.Verdict {
	if !changesPaused(c) || c.Facts.Twin == nil || c.Actor == policies.Poundlock || controls(c.Actor, c.Side) || anonymous(c) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(statusPath.Child("conditions").Key(ConditionPaused), fmt.Sprintf(
		"by this condition the controllers of this %s report that they leave it alone, or act on it again, and a move waits for that: only they write it. "+
			"Leave it as it is, and patch only the other parts of status", c.New.Kind)))
}

func changesPaused(c policies.Change) bool {
	if c.Subresource != "status" || c.Old == nil || c.New == nil || Paused(c.Old) == Paused(c.New) {
		return false
	}
	return Paused(c.New) != (Condition{}) || c.Old.HasAnnotation(PausedAnnotation)
}

// anonymous reports whether the provider's controllers have no account of their own: their requests cannot be told from anybody's.
func anonymous(c policies.Change) bool {
	p := providerOf(c.New.Kind)
	return c.Side == policies.SideInfrastructure && p.Machine != "" && p.Account == ""
}
