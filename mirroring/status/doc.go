// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status decides what is written to the status of the objects of a pair: what the authoritative object reports,
// the condition Synchronized, and what a pair waits for.
//
// The input is a pairs.State, the time, and the status that a conversion wants. The output is a write, or nil if the
// object has all of this already.
//
// Non-goals:
//   - the form of a status in the other API: see conversion
//   - when something is reported: see mirroring
package status
