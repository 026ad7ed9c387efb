// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handoff moves authority over a Machine, MachineSet or MachineHealthCheck from one API to the other, and keeps the API
// that is not authoritative paused (DESIGN §4, converting › Migration of resources).
//
// A pass gathers the objects of a pair (the only reads), asks authority.Next for the one step that follows, and
// applies it (the only writes). It looks at a cache first; if that calls for a change it reads the same from the API
// server and asks again, so that nobody is told to act on a stale view. Every write is a patch with the resourceVersion of
// the object that was read: a slow or second handoff is refused instead of obeyed. A pass over a settled pair sends no request.
//
// It knows how steps become writes, conditions, events and metrics. It refuses to know when a step is due
// (authority.Next), what a mirror is made of (reconcilers/mirror), and which platform a machine runs on: the provider's object
// is the one that the Cluster API object refers to.
//
// Who writes what: of the Machine API object's status, the handoff writes authoritativeAPI, synchronizedAPI and the condition
// AuthoritySettled; when it switches it also resets what the mirror says, synchronizedGeneration and Synchronized, in the same
// patch. On Cluster API objects it writes the pause annotation, on both sides' the machine finalizers.
package handoff
