// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package display puts what the plugin has to say on a terminal or into a file: tables whose columns line up, a little colour where
// a person looks and none where a program reads, lines that fit the terminal.
//
// It refuses to know what is said.
package display
