// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package printers formats the plugin's output for a terminal or a file. It aligns the columns of tables and wraps lines
// to the terminal. It uses a little colour where a person reads, and none where a program reads.
//
// In go words and rows. Out comes text.
//
// Non-goals:
//   - the content of the output
package printers
