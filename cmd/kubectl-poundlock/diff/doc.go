// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diff is the command that compares the two sides of a pair, field by field, in the fields of one API.
//
// In go both objects. Out come their differences. Both sides pass through the conversion, so that equal values in
// different forms are not reported. compare.go is pure.
//
// Non-goals:
//   - the meaning of any field: see conversion
package diff
