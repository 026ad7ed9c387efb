// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership compares an object with what the mirror wants of that object. It also reads which fields of the object belong to the mirror, as
// metadata.managedFields records that, and returns changed managed fields (DESIGN §5). It decides, and writes nothing to the API server.
//
// Non-goals:
//   - what is wanted: see mirroring
//   - the API server's own merge of an apply, which is what Takeover and Yield prepare
package ownership
