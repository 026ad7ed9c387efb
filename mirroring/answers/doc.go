// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answers remembers what the API server answered to writes of the mirror: what it refused, and until when that
// rests (Refusals), and what it took and stored with more than was sent (Kept).
//
// All of it is lost with the process, and only costs requests then. Several goroutines may ask at a time. Time is a value.
//
// Non-goals:
//   - what is written: see mirroring
//   - what the refusal of a write means to a person: see mirroring/status
package answers
