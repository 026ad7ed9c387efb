// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling finds the word that a person meant by a word that does not exist.
//
// Nearest takes that word and the words that exist. It returns the nearest of them, if one is near enough.
//
// Non-goals:
//   - the meaning of the words
package spelling
