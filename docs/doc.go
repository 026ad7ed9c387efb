// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs generates the pages that follow from the code. It writes rules.md from the rows of the rules, and states.md by asking the handoff for its next
// step in each state. It writes the tables of runbooks.md and signals.md from docs/meanings.
//
// Non-goals:
//   - what a rule does: see the rule's row
package docs

//go:generate go test . -update
