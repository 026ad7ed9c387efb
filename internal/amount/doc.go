// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package amount writes a number of things as people do: "1 Machine", "2 Machines".
//
// In go a number and the name of one thing. Out comes a text.
//
// Non-goals:
//   - names whose plural is none of the usual ones
//   - the verb that follows
package amount
