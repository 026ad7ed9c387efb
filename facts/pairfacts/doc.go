// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pairfacts reads what decisions about a pair need: both objects, what belongs to them, and what they live in.
//
// In go a reader (a cache, or the API server) and the name of a pair. Out comes a pairs.State, for mirroring.Next.
//
// Woken finds which pairs an object requeues: those whose pass reads the object.
//
// Non-goals:
//   - deciding: see mirroring
//   - writing and watching: see reconcilers/mirror
package pairfacts
