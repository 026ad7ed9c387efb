// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirroring decides the next write that brings a mirror closer to its authoritative object.
//
// In goes a pairs.State: everything that was read of one pair. Out of Next comes a pairs.Write, or nil if there is nothing
// to do. The caller sends it, puts what the API server returned into the State (Store), and asks again. It works in both
// directions, and carries deletions over (DESIGN §5, converting › Synchronisation of resources, › Deletion of Machines).
//
// Beside that it decides which pairs an object of a provider wakes (waking.go), what a pair lives in (surroundings.go), and
// which events a pass records (news.go).
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
