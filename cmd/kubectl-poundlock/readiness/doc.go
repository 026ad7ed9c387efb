// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package readiness reports for one pair whether it could migrate now, and if not, why not.
//
// In go the objects of a pair and of their cluster, as values. Out come the answers of the webhook, the mirror and the
// handoff, side by side. It asks the same rules, the same conversion and the same state machine as they do.
//
// It is pure.
//
// Non-goals:
//   - collecting the objects: see inventory
//   - showing the answers: see check
package readiness
