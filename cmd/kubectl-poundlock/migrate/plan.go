// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
)

// Action is what to do with an object.
type Action string

// The actions, in the order of a plan.
const (
	// Leave: the object cannot move.
	Leave Action = readiness.PlanLeave
	// Skip: the requested API is already authoritative for the object.
	Skip Action = "is there"
	// Follow: the move was requested before, and is in progress.
	Follow Action = readiness.PlanFollow
	// Ask: the move is to be requested.
	Ask Action = readiness.PlanAsk
)

// PlannedMove is one object of a plan.
type PlannedMove struct {
	Pair    inventory.Pair    `json:"-"`
	Finding readiness.Finding `json:"object"`
	Action  Action            `json:"action"`
}

// Text returns the action in words. A request that takes back an earlier request has other words.
func (s PlannedMove) Text() string {
	if s.GoesBack() {
		return readiness.Back(s.Pair, s.Finding.To)
	}
	return string(s.Action)
}

// GoesBack reports whether the request takes back an earlier one: the object stays with the API that it has, or goes back to it.
func (s PlannedMove) GoesBack() bool {
	return s.Action == Ask && readiness.Back(s.Pair, s.Finding.To) != ""
}

// Question returns what a person confirms of a plan: how many objects move to an API, and how many earlier requests are taken back; "" for nothing.
func Question(plan []PlannedMove, to authority.API) string {
	moves, back := 0, 0
	for _, s := range Of(plan, Ask) {
		if s.GoesBack() {
			back++
		} else {
			moves++
		}
	}
	cancels := fmt.Sprintf("ancel the move%s of %s", map[bool]string{false: "s"}[back == 1], amount.Of(back, "object"))
	switch {
	case moves == 0 && back == 0:
		return ""
	case back == 0:
		return fmt.Sprintf("Move %s to %s?", amount.Of(moves, "object"), to.Text())
	case moves == 0:
		return fmt.Sprintf("C%s, so that authority stays with %s?", cancels, to.Text())
	}
	return fmt.Sprintf("Move %s to %s, and c%s?", amount.Of(moves, "object"), to.Text(), cancels)
}

// askedOf returns the progress in words after a request was stored.
func askedOf(p inventory.Pair, to authority.API) string {
	switch readiness.Back(p, to) {
	case readiness.PlanTakeBack:
		return "request taken back"
	case readiness.PlanCancel:
		return "cancellation requested: authority goes back"
	}
	return askedFor
}

// rehearsedOf returns the result in words after a request was sent as a dry run.
func rehearsedOf(p inventory.Pair, to authority.API) string {
	if readiness.Back(p, to) != "" {
		return "would be cancelled (server dry run)"
	}
	return "would be requested (server dry run)"
}

// Plan returns the action for each object. The pairs have sets before their Machines, so that a set that cannot move stops the rest.
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

// Of returns the steps with the given action.
func Of(plan []PlannedMove, a Action) []PlannedMove {
	return slices.DeleteFunc(slices.Clone(plan), func(s PlannedMove) bool { return s.Action != a })
}
