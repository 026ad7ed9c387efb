// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package annotated writes a converted object as YAML with a comment where a field is not what it was: where it came from and what
// changed on the way. The comments are the conversion's own rows.
//
// It refuses to know any field.
package annotated
