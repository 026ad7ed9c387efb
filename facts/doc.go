// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts reads the facts that a policy judges by. It also reads what several parts of Poundlock must read
// alike.
//
// In go a reader and a key. Out come values.
//
// Non-goals:
//   - deciding and writing
//   - caches, time limits and counting: the callers choose them
package facts
