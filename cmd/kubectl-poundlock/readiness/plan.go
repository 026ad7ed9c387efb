// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

// The words of the columns PLAN and WHY of migrate, but for those that are answers of check too.
const (
	PlanAsk      = "move"
	PlanTakeBack = "take the request back"
	PlanFollow   = "on its way"
	PlanLeave    = "cannot move"
	PlanWillWait = "will wait"
)

// PlanMeanings explains those words.
func PlanMeanings() []Reason {
	return []Reason{
		{PlanAsk, "spec.authoritativeAPI is set to the other API, so that the object moves", "nothing"},
		{PlanTakeBack, "spec.authoritativeAPI is set back: the move to the other API was asked for, and has not begun", "nothing"},
		{PlanFollow, "the move was asked for before, and goes on", "wait, or take it back: `kubectl poundlock migrate KIND/NAME --cancel`"},
		{
			PlanLeave, "the object stays where it is, for the reason in the column WHY, and nothing is asked for",
			"`kubectl poundlock check KIND/NAME` has the whole reason. `--skip-blocked` moves the others",
		},
		{
			PlanWillWait, "the move can be asked for, and begins once what the reason names has come about",
			"nothing, or look the reason up: `kubectl poundlock explain` knows each",
		},
	}
}
