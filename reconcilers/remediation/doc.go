// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remediation carries over what Cluster API's health checks find amiss with Machines that are still the Machine
// API's (DESIGN §3.3, converting › MachineHealthCheck remediates Machine).
//
// Cluster API's check skips paused Machines, and the mirror of a Machine for which Machine API is authoritative is paused: in a
// mixed cluster such a Machine would never be healed. So for each check for which Cluster API is authoritative, and that its Machine
// API twin says the same of, the Machines that it selects are judged by the same rules (machine/health), those of both APIs
// together, as its limit means them. An unhealthy one for which Machine API is authoritative, and that has a controller which
// replaces it, is deleted, once, with an event that says why. Machine API's controllers do the rest; the mirror goes along.
//
// Cluster API's check does not delete a Machine of Cluster API's own: it marks it, and its MachineSet deletes it. Where that set is the paused mirror of one that Machine
// API is authoritative for, or a ControlPlaneMachineSet owns the Machine, nobody would. Such a Machine is deleted here, too. Where Cluster API's set is not paused, it is left to that.
//
// The other way about nothing is missing: Machine API's check deletes the Machine API object of any Machine that it finds
// unhealthy, and the mirror carries the deletion of an owned one over.
//
// A pass looks at a cache. Only if that calls for a deletion are the check, its twin and all Machines read from the API server,
// and the Node of each that is to go; the deletion carries the uid and resourceVersion that it was decided from.
//
// It knows whose the checks and Machines are. It refuses to know when a Machine is unhealthy (machine/health), how one ends
// (the Machine API's controllers) and how a check is mirrored (reconcilers/mirror).
package remediation
