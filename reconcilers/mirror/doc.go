// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror creates and keeps the twin of a Machine, MachineSet or MachineHealthCheck equal to the authoritative object of
// it, in both directions, and carries deletions over (DESIGN §5, converting › Synchronisation of resources, › Deletion of Machines).
//
// It knows the objects of a pair (state), the one next write that brings them closer (next, pure), and how to
// perform it. A pass looks at a cache; only if that calls for a write does it read the same from the API server and
// then performs one write after the other, each decided from what the last one returned, until none is left.
// Every write carries the resourceVersion that it was decided from, a creation demands that there be nothing, and a deletion names its object by
// UID. So a pass over a pair in step sends no request, a crash between two writes is repaired by the next pass, and nobody is overwritten by a stale
// cache or by a leader that is no longer one. What is created is then owned as if it had been applied (compare.go): an apply cannot demand that.
//
// It refuses to know how a field is said in the other API (conversion), what the rules of a deletion are
// (policies/authority), and how authority moves (reconcilers/handoff): of status.authoritativeAPI it is a reader.
//
// Who writes what: of the Machine API object's status, the mirror writes synchronizedGeneration, the Synchronized
// condition and, while Cluster API is the source, what Cluster API reports. The pause annotation is in what it applies
// to Cluster API objects as long as it applies anything to them, which ends when Cluster API becomes the source.
// Of an authoritative object, the mirror writes finalizer, mark and shared ownership of fields, and the owner of a Machine whose set is paused (owner.go).
package mirror
