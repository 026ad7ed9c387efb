// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight answers, for one pair, the question that the webhook, the mirror and the handoff would answer: could it
// move now, and if not, why not. It asks the same rules, the same conversion and the same state machine as they do, and only puts
// their answers side by side.
//
// It is pure: what is judged comes in as values. It refuses to know where they came from and how the answer is shown.
package preflight
