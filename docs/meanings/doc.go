// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package meanings explains what Poundlock prints: reasons, conditions, events, alerts, metrics, phases and annotations.
// Its tables are what runbooks.md and signals.md show, and what `kubectl poundlock explain` prints.
//
// A table names a reason by the code's constant for it, if the constant is exported.
//
// Non-goals:
//   - rules and fields: their own rows explain them
//   - how to proceed in several steps: the prose of the runbooks describes that
package meanings
