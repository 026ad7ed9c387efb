// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package licences gathers the licences and notices of a program's parts: of each Go module that it is compiled from,
// and of Go itself.
//
// In go the packages of the program and a platform. Out comes one text, the same for the same build. print.go prints it.
//
// Non-goals:
//   - judging a licence
package licences
