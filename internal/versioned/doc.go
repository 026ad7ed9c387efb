// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package versioned writes to an object only if nobody has changed it since it was read: otherwise the API server answers with a conflict. So a decision from a
// stale cache, or of a replica that has not noticed yet that it lost its Lease, overwrites nothing.
//
// Non-goals:
//   - what happens after a conflict: the reconciler's queue reads the object again
package versioned
