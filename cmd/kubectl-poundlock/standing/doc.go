// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standing summarizes a pair of objects for a person who looks at a whole fleet.
//
// In go the objects of a pair. Out come the requested API, the authoritative API, whether the mirror is synchronized,
// and which side is paused. A pair that migrates also has what it waits for, and since when.
//
// It is pure, and repeats what the objects' own conditions report.
//
// Non-goals:
//   - what ought to happen next: see policies/authority
package standing
