// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topics explains, without a cluster, what Poundlock's answers are about: its rules, the reasons of its
// conditions, and the fields of the conversion.
//
// In goes a word. Out comes an explanation. It comes from the rows of the rules, the rows of the fields, and the
// runbooks for reasons.
//
// Non-goals:
//   - explanations of its own
//   - showing an explanation: see explain
package topics
