// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package twin computes the objects that are wanted of a mirror.
//
// In go a pairs.State and what a conversion made of the authoritative object. Out come the objects with all that the
// mirror applies: their names, marks, pause, owners, and the labels and annotations that it leaves or adds.
//
// Non-goals:
//   - the form of a field in the other API: see conversion
//   - comparing and applying: see mirroring/fields
package twin
