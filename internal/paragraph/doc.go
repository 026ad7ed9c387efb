// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paragraph breaks the Markdown of generated pages into lines that fit a terminal and a review.
//
// In goes a paragraph on one line, and what stands before it in a list. Out come lines, in which code stays whole, since people copy it.
//
// Non-goals:
//   - tables and code blocks: their lines have a meaning
package paragraph
