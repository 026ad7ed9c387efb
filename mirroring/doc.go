// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirroring decides the next write that brings a mirror closer to its authoritative object.
//
// The input is a pairs.State, which is everything that was read of one pair. The output of Next is a pairs.Write, or nil if
// there is nothing to do. The caller sends the write, stores the API server's answer in the State (Store), and calls Next
// again. Next works in both directions, and propagates deletions (DESIGN §5, converting › Synchronisation of resources, ›
// Deletion of Machines).
//
// In addition, the package decides which pairs an object of a provider requeues (waking.go), in which namespaces, CRDs and
// Clusters a pair lives (surroundings.go), and which events a pass records (news.go).
//
// The package joins conversion (fields) and policies (authority, ownership).
//
// Non-goals:
//   - reading objects: see facts/pairfacts
//   - writing them: see reconcilers/mirror
//   - the form of a field in the other API: see conversion
//   - the rules of a deletion: see policies/authority
//   - which fields of an object are the mirror's: see policies/ownership
package mirroring
