// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cleanup plans how a cluster removes Poundlock.
//
// In go the objects of a cluster. Out come the obstacles to a removal, the admission to delete, and the finalizers and
// marks to remove.
//
// It is pure. Each object keeps its authoritative API and its pause, so that no controller begins to act.
//
// Non-goals:
//   - reading and writing: see commands
package cleanup
