// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pairfacts reads what is decided by about a pair: both objects, what belongs to them, and what they live in.
//
// In go a reader (a cache, or the API server) and the name of a pair. Out comes a pairs.State, for mirroring.Next.
//
// Beside it stands which pairs an object wakes: the ones that a read of it belongs to (Woken).
//
// Non-goals:
//   - deciding: see mirroring
//   - writing and watching: see reconcilers/mirror
package pairfacts
