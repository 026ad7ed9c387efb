// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert writes a converted object as YAML. Where a field differs from its source, a comment gives the source
// and what changed.
//
// In go a converted object and the conversion's rows, which are the comments. Out comes YAML.
//
// Non-goals:
//   - the meaning of any field: see conversion
package convert
