// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate is the command that plans, requests and follows the migrations of many objects.
//
// In go the fleet and the time. Out come requests in order, a few at a time, lines of progress, and when to stop. plan.go
// and run.go are pure: they decide what is requested when.
//
// All state is the cluster's. So an interrupted run continues where it stopped.
//
// Non-goals:
//   - migrating: Poundlock's manager does that
package migrate
