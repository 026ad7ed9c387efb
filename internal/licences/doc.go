// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package licences gathers the licences and notices of a program's parts: of each Go module that it is compiled from,
// and of Go itself.
//
// Of takes the packages of the program and a platform, and Text returns one text, which is equal for equal builds. print.go prints that text.
//
// Non-goals:
//   - judging a licence
package licences
