// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status is the command that shows a fleet at a glance, once or as a watch.
//
// In go the objects of a cluster. Out come a row for each pair, how far a move of many objects is, and who else acts
// there. progress.go and fit.go are pure.
//
// Non-goals:
//   - what a row has: see standing
package status
