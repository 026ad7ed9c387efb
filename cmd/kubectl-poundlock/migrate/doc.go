// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate plans and follows the migrations of many objects.
//
// In go the fleet and the time, as values. Out come requests in order, a few at a time, lines of progress, and when to
// stop.
//
// It is pure, and reads all its state from the cluster. So an interrupted run continues where it stopped.
//
// Non-goals:
//   - migrating: Poundlock's manager does that
package migrate
