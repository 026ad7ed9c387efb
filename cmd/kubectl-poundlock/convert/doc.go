// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert is the command that converts objects from either API into the other. Where a field differs from its
// source, a comment gives the source and what changed.
//
// In go the objects of a cluster or of files. Out come YAML with comments, or JSON. comments.go and twin.go are pure.
//
// Non-goals:
//   - the meaning of any field: see conversion
package convert
