// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission has the rules by which a review judges a ControlPlaneMachineSet: what is refused, what gets a warning, and
// the forecast of what a request leads to. The rules use the plan by which the operator acts, so a warning cannot differ from
// what happens.
//
// In an edit of a stored set, the rules judge only what the edit adds: a field that was wrong before does not prevent an edit
// of another field (ratchet).
//
// Non-goals:
//   - reading a cluster: a rule gets the facts that it needs with the change
package admission
