// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission has the rules by which a review judges a ControlPlaneMachineSet: what is refused, what is warned of, and
// the forecast of what a request leads to. A rule asks the plan that the operator acts by, so that a warning and what
// happens cannot differ.
//
// A set that is stored already is judged by what an edit adds: what was wrong before does not keep anybody from an edit of
// something else (ratchet).
//
// Non-goals:
//   - reading a cluster: the facts that a rule needs are in the change that it is given
package admission
