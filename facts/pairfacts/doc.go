// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pairfacts reads what decisions about a pair need: both objects, the objects that belong to them, and the
// namespaces, CRDs and Cluster that they live in.
//
// The input is a reader (a cache, or the API server) and the name of a pair. The output is a pairs.State, for
// mirroring.Next.
//
// Woken finds the pairs that an event of an object must requeue: those whose pass reads the object.
//
// Non-goals:
//   - deciding: see mirroring
//   - writing and watching: see reconcilers/mirror
package pairfacts
