// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answers judges the API server's answers to writes of the mirror (IsRefusal), and remembers two kinds of them. Refusals has the writes that the API
// server refused, and until when each waits. Kept has the objects that it stored with more than was sent.
//
// What is remembered is lost with the process. That costs a few requests, and nothing else. Several goroutines may call at the same time. The caller passes
// the time.
//
// Non-goals:
//   - what is written: see mirroring
//   - what the refusal of a write means to a person: see mirroring/status
package answers
