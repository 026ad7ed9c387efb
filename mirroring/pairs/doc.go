// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pairs has what was read of an object and its twin (State), the questions that are asked of it, and what is
// written to them (Write).
//
// In go the objects as the API server returned them. Out come answers: which API is authoritative, which object is the
// mirror, what made it, what owns it, what it refers to.
//
// Non-goals:
//   - what is wanted of a mirror, and which write comes next: see mirroring
package pairs
