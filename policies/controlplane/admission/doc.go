// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission has the rules by which a review judges a ControlPlaneMachineSet: what is refused, what is warned of, and
// the forecast of what a request leads to. A rule asks the plan by which the operator acts, so that a warning cannot differ
// from what happens.
//
// Of a stored set, only what an edit adds is judged: a field that was wrong before does not prevent an edit of another field
// (ratchet).
//
// Non-goals:
//   - reading a cluster: a rule gets the facts that it needs with the change
package admission
