// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package amount writes a number of things as people do: "1 Machine", "2 Machines".
//
// Of takes a number and the name of one thing. It returns a text.
//
// Non-goals:
//   - names with an irregular plural
//   - the verb that follows
package amount
