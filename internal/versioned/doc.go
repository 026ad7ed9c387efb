// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package versioned writes to an object as it was read: the API server answers with a conflict if anybody has written to it since. What was decided from a
// stale cache, or by a replica that has not noticed yet that it lost its Lease, overwrites nobody.
//
// Non-goals:
//   - what a conflict leads to: the reconciler's queue reads again
package versioned
