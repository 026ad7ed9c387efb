// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling finds the word that a person meant by one that does not exist. It knows how far apart two words are, and refuses to know what they
// are the names of.
package spelling
