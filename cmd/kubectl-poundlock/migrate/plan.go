// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
)

// Action is what to do with an object.
type Action string

// The actions, in the order of a plan.
const (
	// Leave: it cannot move.
	Leave Action = readiness.PlanLeave
	// Skip: it has arrived already.
	Skip Action = "is there"
	// Follow: it was requested before, and is in progress.
	Follow Action = readiness.PlanFollow
	// Ask: it is to be requested.
	Ask Action = readiness.PlanAsk
)

// PlannedMove is one object of a plan.
type PlannedMove struct {
	Pair    inventory.Pair    `json:"-"`
	Finding readiness.Finding `json:"object"`
	Action  Action            `json:"action"`
}

// Text is the action in words. What is requested of an object that is already where it is to be takes back a request whose move has not begun.
func (s PlannedMove) Text() string {
	if s.Action == Ask && s.Pair.Shape().Current == s.Finding.To {
		return readiness.PlanTakeBack
	}
	return string(s.Action)
}

// Plan returns the action for each object, sets before their Machines, so that a set that cannot move stops the rest.
func Plan(pairs []inventory.Pair, findings []readiness.Finding) []PlannedMove {
	var out []PlannedMove
	for i, p := range pairs {
		out = append(out, PlannedMove{Pair: p, Finding: findings[i], Action: action(p, findings[i])})
	}
	return out
}

func action(p inventory.Pair, f readiness.Finding) Action {
	switch {
	case f.Readiness == readiness.There:
		return Skip
	case f.Readiness == readiness.Blocked || f.Readiness == readiness.Unknown && f.Reason != readiness.ReasonUnread:
		return Leave
	case p.Shape().Requested == f.To:
		return Follow
	}
	return Ask
}

// Of returns the steps with an action.
func Of(plan []PlannedMove, a Action) []PlannedMove {
	return slices.DeleteFunc(slices.Clone(plan), func(s PlannedMove) bool { return s.Action != a })
}
