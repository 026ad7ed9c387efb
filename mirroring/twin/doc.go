// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package twin computes the wanted objects of a mirror.
//
// The input is a pairs.State, and the result of converting the authoritative object. The output is the objects with
// everything that the mirror applies: their names, marks, pause, owners, and the labels and annotations that the mirror
// leaves or adds.
//
// Non-goals:
//   - the form of a field in the other API: see conversion
//   - comparing and applying: see mirroring/fields
package twin
