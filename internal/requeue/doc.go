// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package requeue decides when a controller reconciles an object again: after a failure, and after a conflict.
//
// Non-goals:
//   - which errors a kind's reconciler may meet
package requeue
