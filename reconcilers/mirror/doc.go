// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror creates the twin of a Machine, MachineSet or MachineHealthCheck, and keeps it equal to the
// authoritative object. It works in both directions, and propagates deletions (DESIGN §5, converting › Synchronisation
// of resources, › Deletion of Machines).
//
// A pass reads the objects of a pair (facts/pairfacts), asks mirroring.Next for one write, and sends it. It first reads
// from a cache. Only if a write is needed according to the cache does it read the same objects from the API server. It
// then performs one write after the other, until none is left. It decides each write from the answer to the last one.
//
// Every write carries the resourceVersion on which it was decided. A creation requires that the object does not exist,
// and a deletion names its object by UID. The consequences are:
//
//   - A pass over a synchronized pair sends no request.
//   - The next pass repairs a crash between two writes.
//   - A stale cache or a former leader overwrites nobody.
//
// The mirror then owns the fields of an object that it has created as if it had applied the object
// (policies/ownership). It creates Machine API objects by a create, because an apply would also own
// spec.authoritativeAPI, which users set.
//
// In addition to the content of the mirror, it writes:
//
//   - In the status of the Machine API object: synchronizedGeneration and the Synchronized condition. While Cluster
//     API is the source, it also writes what Cluster API reports.
//   - On Cluster API objects: the pause annotation, in the same apply as everything else. It stops applying when
//     Cluster API becomes the source.
//   - On an authoritative object: the finalizer, the mark, the shared ownership of fields, and the owner of a
//     Machine whose set is paused.
//
// Non-goals:
//   - what is written: see mirroring
//   - the form of a field in the other API: see conversion
//   - the rules of a deletion: see policies/authority
//   - moving authority: see reconcilers/handoff. The mirror only reads status.authoritativeAPI.
package mirror
