// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remediation lets Cluster API's health checks remediate Machines for which Machine API is authoritative (DESIGN
// §3.3, converting › MachineHealthCheck remediates Machine).
//
// Cluster API's MachineHealthCheck skips paused Machines. While Machine API is authoritative for a Machine, the
// Machine's mirror is paused. So without this package, nobody would remediate such a Machine in a mixed cluster.
//
// A pass handles one check for which Cluster API is authoritative and whose Machine API twin is equal. It judges all
// Machines that the check selects, by the same rules (machine/health). It judges the Machines of both APIs together,
// because the check's limit counts both. It deletes an unhealthy Machine if Machine API is authoritative for the
// Machine and a controller replaces it. It deletes the Machine once, with an event that gives the reason. Machine API's
// controllers do the rest, and the mirror follows.
//
// Cluster API's check does not itself delete a Machine for which Cluster API is authoritative. It marks the Machine,
// and the Machine's MachineSet deletes it. In two cases nobody deletes it: the MachineSet is the paused mirror of one
// for which Machine API is authoritative, or a ControlPlaneMachineSet owns the Machine. A pass deletes such a Machine,
// too. A Cluster API MachineSet that is not paused deletes its own Machines. For a check with a remediation template, the
// remediator acts first. Only when it gives up does it mark the Machine in the same way, and only then does a pass delete
// the Machine.
//
// Cluster API's check stands still while it is paused, or its Cluster (spec.paused). A pass deletes nothing then. The end of the pause requeues the check.
//
// The other direction needs nothing. Machine API's check deletes the Machine API object of any Machine that it finds
// unhealthy. The mirror propagates the deletion if a controller owns the object.
//
// A pass reads from a cache. Before a deletion it reads the check, its twin and all Machines from the API server. It
// also reads the Node of each Machine that it would delete. The deletion carries the uid and resourceVersion on which
// it was decided.
//
// Non-goals:
//   - when a Machine is unhealthy: see machine/health
//   - how a Machine is terminated: the Machine API's controllers do that
//   - how a check is mirrored: see reconcilers/mirror
package remediation
