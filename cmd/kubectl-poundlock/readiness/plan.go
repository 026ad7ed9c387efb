// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// The words in the columns PLAN and WHY of migrate, except those that are also answers of check.
const (
	PlanAsk      = "move"
	PlanTakeBack = "take the request back"
	PlanCancel   = "cancel the move"
	PlanFollow   = "on its way"
	PlanLeave    = "cannot move"
	PlanWillWait = "will wait"
)

// PlanMeanings explains the words of a plan.
func PlanMeanings() []Reason {
	return []Reason{
		{PlanAsk, "spec.authoritativeAPI is set to the other API, so that the object moves", "nothing"},
		{PlanTakeBack, "spec.authoritativeAPI is set back: the move to the other API was requested, and has not begun", "nothing"},
		{
			PlanCancel, "spec.authoritativeAPI is set back: the move to the other API has begun, and authority returns to the API that had it before",
			"nothing",
		},
		{PlanFollow, "the move was requested earlier, and continues", "wait, or cancel the move: `kubectl poundlock migrate KIND/NAME --cancel`"},
		{
			PlanLeave, "the object stays with its API, for the reason in the column WHY, and migrate requests nothing",
			"`kubectl poundlock check KIND/NAME` shows the whole reason. `--skip-blocked` moves the other objects",
		},
		{
			PlanWillWait, "the move can be requested, and begins as soon as the wait that the reason names is over",
			"nothing; `kubectl poundlock explain REASON` explains the reason",
		},
	}
}

// Back returns the plan's word for a request that takes an earlier request back. Such a request names the API that is authoritative, or the API that the object
// is leaving. Back returns "" for a request that moves the object, or that changes nothing.
func Back(p inventory.Pair, to authority.API) string {
	shape := p.Shape()
	switch {
	case p.MachineAPI == nil || shape.Requested == to:
		return ""
	case shape.Current == to:
		return PlanTakeBack
	case shape.Current == authority.Migrating && shape.SynchronizedAPI == to:
		return PlanCancel
	}
	return ""
}

// GoesBack reports whether the object is between the two APIs, and returns to the API that it was leaving.
func GoesBack(p inventory.Pair) bool {
	shape := p.Shape()
	return p.MachineAPI != nil && shape.Current == authority.Migrating && shape.Requested == shape.SynchronizedAPI
}

// Once returns the sentences about the objects that have yet to move, each sentence once.
func Once(findings []Finding, sentence func(Finding) string) []string {
	var out []string
	for _, f := range findings {
		if text := sentence(f); f.Readiness != There && text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
