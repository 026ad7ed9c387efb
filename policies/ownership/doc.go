// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership compares an object with what the mirror wants the object to be. It reads from metadata.managedFields which fields of the object belong to
// the mirror, and returns changed managed fields (DESIGN §5). It decides, and writes nothing to the API server.
//
// Non-goals:
//   - what is wanted: see mirroring
//   - the API server's own merge of an apply, for which Takeover and Yield prepare the managed fields
package ownership
