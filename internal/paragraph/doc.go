// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paragraph breaks the paragraphs of generated Markdown pages into lines that fit a terminal and a review.
//
// Wrapped takes a paragraph on one line, and the mark before it in a list. It returns lines. Code is never broken over two lines, because people copy it.
//
// Non-goals:
//   - tables and code blocks: their lines have a meaning
package paragraph
