// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling finds the word that a person meant by a word that does not exist.
//
// In go that word and the words that exist. Out comes the nearest, if one is near enough.
//
// Non-goals:
//   - what the words name
package spelling
