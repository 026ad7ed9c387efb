// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership compares an object with what the mirror wants of it, and reads and changes which of its fields are the mirror's: what
// metadata.managedFields records (DESIGN §5). It decides, and writes nothing.
//
// Non-goals:
//   - what is wanted: see mirroring
//   - the API server's own merge of an apply, which is what Takeover and Yield prepare
package ownership
