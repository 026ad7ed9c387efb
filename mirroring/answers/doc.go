// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answers judges the API server's answers to writes of the mirror (IsRefusal), and remembers two kinds of answers. Refusals has the writes that the
// API server refused, and until when each of them waits. Kept has the objects that the API server stored with more than was sent.
//
// What is remembered is lost when the process ends. That costs only a few requests. The methods may be called from several goroutines at the same time. The
// caller passes the time.
//
// Non-goals:
//   - what is written: see mirroring
//   - what the refusal of a write means for a user: see mirroring/status
package answers
