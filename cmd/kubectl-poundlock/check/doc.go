// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check is the command that reports which objects could migrate, which could not, and why.
//
// In go the objects of a cluster or of files. Out come a table, the reasons, and who else writes to the objects. groups.go
// and neighbours.go are pure.
//
// Non-goals:
//   - the answer for one pair: see readiness
package check
