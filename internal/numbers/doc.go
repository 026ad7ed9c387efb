// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package numbers finds the numbers in a JSON text that would keep a parser busy.
//
// Non-goals:
//   - what a number counts
package numbers
