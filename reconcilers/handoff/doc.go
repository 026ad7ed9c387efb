// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handoff moves authority over a Machine, MachineSet or MachineHealthCheck from one API to the other. It keeps
// the API that is not authoritative paused (DESIGN §4, converting › Migration of resources).
//
// A pass gathers the objects of a pair (the only reads) and asks authority.Next for one step. It applies that step (the
// only writes). It reads a cache first. If that calls for a change, it reads the same from the API server and asks
// again. So it acts on no stale view. Every write is a patch with the resourceVersion of the object that was read. So
// the API server refuses a slow or second handoff. A pass over a settled pair sends no request.
//
// It turns steps into writes, conditions, events and metrics:
//
//   - In the status of the Machine API object it writes authoritativeAPI, synchronizedAPI and the condition
//     AuthoritySettled.
//   - When it switches, it also resets the mirror's report, synchronizedGeneration and Synchronized, in the same
//     patch. synchronizedGeneration becomes 0 and not absent: what is authoritative now has existed. An adoption stores that, too, where it has.
//   - On Cluster API objects it writes the pause annotation.
//   - On the objects of both sides it writes the machine finalizers.
//
// Non-goals:
//   - when a step is due: see authority.Next
//   - the content of a mirror: see reconcilers/mirror
//   - the platform of a machine: the provider's object is the one that the Cluster API object refers to
package handoff
