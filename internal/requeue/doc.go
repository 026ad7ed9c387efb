// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package requeue decides when a controller looks again: after a failure, and after somebody was faster.
//
// Non-goals:
//   - kinds and errors
package requeue
