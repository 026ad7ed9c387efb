// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror creates the twin of a Machine, MachineSet or MachineHealthCheck, and keeps it equal to the
// authoritative object. It works in both directions, and carries deletions over (DESIGN §5, converting › Synchronisation
// of resources, › Deletion of Machines).
//
// A pass reads the objects of a pair (facts/pairfacts), asks mirroring.Next for one write, and sends it. It reads a cache
// first. Only if that calls for a write does it read the same from the API server. It then performs one write after the
// other, until none is left. It decides each write from what the last one returned.
//
// Every write carries the resourceVersion that it was decided from. A creation requires that no object exists, and a
// deletion names its object by UID. From that follows:
//
//   - A pass over a synchronized pair sends no request.
//   - The next pass repairs a crash between two writes.
//   - A stale cache or a former leader overwrites nobody.
//
// The mirror then owns what it created as if it had applied it (policies/ownership). An apply cannot require that no object
// exists.
//
// Beside the content of the mirror, it writes:
//
//   - In the status of the Machine API object: synchronizedGeneration and the Synchronized condition. While Cluster
//     API is the source, also what Cluster API reports.
//   - On Cluster API objects: the pause annotation, with everything else that it applies. It stops applying when
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
