// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handoff moves authority over a Machine, MachineSet or MachineHealthCheck from one API to the other. It keeps
// the API that is not authoritative paused (DESIGN §4, converting › Migration of resources).
//
// A pass gathers the objects of a pair (the only reads), asks authority.Next for one step, and applies that step (the
// only writes). It first reads from a cache. If a change is needed according to the cache, it reads the same objects
// from the API server and decides again. So it never acts on stale data. Every write is a patch with the
// resourceVersion of the object that was read, so the API server refuses the writes of a slow or second handoff. A pass
// over a settled pair sends no request.
//
// It turns steps into writes, conditions, events and metrics:
//
//   - In the status of the Machine API object it writes authoritativeAPI, synchronizedAPI and the condition
//     AuthoritySettled.
//   - When it switches authority, it also resets the mirror's report (synchronizedGeneration and the condition
//     Synchronized) in the same patch. synchronizedGeneration becomes 0 and not absent, which records that the object
//     that is authoritative now has existed. An adoption records this too, if the object exists.
//   - On Cluster API objects it writes the pause annotation.
//   - On the objects of both sides it writes the machine finalizers.
//
// Non-goals:
//   - when a step is due: see authority.Next
//   - the content of a mirror: see reconcilers/mirror
//   - the platform of a machine: the provider's object is the one that the Cluster API object refers to
package handoff
