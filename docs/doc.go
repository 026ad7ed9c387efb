// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs writes the pages that follow from the code: rules.md from the rows of the rules, states.md from what the handoff
// does next in each state. It knows how a page
// reads, and refuses to know what a rule does: its row says so. It also hands out what only a page tells, such as what a condition's
// reason means, so that the plugin explains it in the same words.
package docs

//go:generate go test . -update
