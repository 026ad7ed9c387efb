// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remediation lets Cluster API's health checks remediate Machines for which Machine API is authoritative (DESIGN
// §3.3, converting › MachineHealthCheck remediates Machine).
//
// Cluster API's check skips paused Machines. While Machine API is authoritative for a Machine, its mirror is paused. So
// nobody would remediate such a Machine in a mixed cluster.
//
// A pass takes each check for which Cluster API is authoritative and whose Machine API twin is equal. It judges all
// Machines that the check selects, by the same rules (machine/health). It judges those of both APIs together, because
// the check's limit counts both. It deletes an unhealthy Machine if Machine API is authoritative for it, and a
// controller replaces it. It deletes it once, with an event that gives the reason. Machine API's controllers do the
// rest, and the mirror follows.
//
// Cluster API's check does not delete a Machine of Cluster API: it marks the Machine, and its MachineSet deletes it. Nobody does
// where that MachineSet is the paused mirror of one for which Machine API is authoritative, or where a ControlPlaneMachineSet
// owns the Machine. A pass deletes such a Machine, too. A Cluster API MachineSet that is not paused deletes its own.
//
// The other direction needs nothing. Machine API's check deletes the Machine API object of any Machine that it finds
// unhealthy. The mirror carries the deletion of an owned one over.
//
// A pass reads a cache. Before a deletion it reads the check, its twin and all Machines from the API server. It also
// reads the Node of each Machine that it would delete. The deletion carries the uid and resourceVersion that it was
// decided from.
//
// Non-goals:
//   - when a Machine is unhealthy: see machine/health
//   - how a Machine is terminated: the Machine API's controllers do that
//   - how a check is mirrored: see reconcilers/mirror
package remediation
