// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts reads the facts from which a policy decides. It also has the reads that several parts of Poundlock must
// do in the same way.
//
// The input is a reader and a key. The output is values.
//
// Non-goals:
//   - deciding and writing
//   - caches, time limits and counting: the callers choose them
package facts
