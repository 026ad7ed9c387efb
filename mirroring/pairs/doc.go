// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pairs has what was read of an object and its twin (State), methods that answer questions about this state,
// and the writes to these objects (Write).
//
// The input is the objects as the API server returned them. The output is answers: which API is authoritative, which
// object is the mirror, what made it, what owns it, and what it refers to.
//
// Non-goals:
//   - what is wanted of a mirror, and which write comes next: see mirroring
package pairs
