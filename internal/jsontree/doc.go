// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsontree finds where an object lacks something of what is wanted of it. It ignores what the object has beyond that, because API servers add
// defaults.
//
// Non-goals:
//   - what differs on either side, with exceptions and in a time that a hostile request cannot stretch: see policies.Comparison
//   - values of a Go type, and texts that are not decoded: see conversion
package jsontree
