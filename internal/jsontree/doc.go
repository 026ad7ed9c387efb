// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsontree finds the differences between an object and what is wanted of it. It ignores members that only the object has, because API servers add
// defaults.
//
// Non-goals:
//   - differences in both directions, with exceptions, in a time that a hostile request cannot extend: see policies.Comparison
//   - values of a Go type, and texts that are not decoded: see conversion
package jsontree
