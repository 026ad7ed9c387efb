// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package twins compares the two sides of a pair in the words of one API, field by field: both sides go through the conversion, so
// that what merely looks different is not told.
//
// It is pure, and refuses to know any field.
package twins
