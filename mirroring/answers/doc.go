// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answers judges what the API server answers to writes of the mirror (IsRefusal), and remembers it: what it refused,
// and until when that rests (Refusals), and what it took and stored with more than was sent (Kept).
//
// What is remembered is lost with the process, and only costs requests then. Several goroutines may ask at a time. Time is a value.
//
// Non-goals:
//   - what is written: see mirroring
//   - what the refusal of a write means to a person: see mirroring/status
package answers
