// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package licences gathers the licences and notices of what is compiled into a program: of each Go module, and of Go itself.
//
// In go the packages of the program and a platform; out comes one text, the same for the same build. print.go prints it.
//
// Non-goals: it judges no licence.
package licences
