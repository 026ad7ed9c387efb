// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonnumbers compares numbers by value, and finds those in a JSON text that would keep a parser busy.
//
// Non-goals:
//   - the meaning of a number
package jsonnumbers
