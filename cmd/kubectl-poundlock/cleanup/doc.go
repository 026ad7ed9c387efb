// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cleanup is the command that removes what Poundlock has left in a cluster.
//
// In go the objects of a cluster. Out come the obstacles to a removal, the admission to delete, and the finalizers and
// annotations to remove; after a confirmation they are removed. plan.go and leaving.go are pure.
//
// Each object keeps its authoritative API and its pause, so that no controller begins to act.
//
// Non-goals:
//   - removing Poundlock's Deployment and CRDs
package cleanup
