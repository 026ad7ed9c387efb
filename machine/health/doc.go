// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health decides which Machines a MachineHealthCheck of the Machine API finds unhealthy, and which of them it may remediate.
//
// A Machine is unhealthy when it has failed, when its Node is gone, when it is older than the startup timeout and never had a Node,
// or when a condition of its Node has been what the check names for as long as the check says. One that is on its way there, or being
// deleted, is not healthy either. Remediation stops altogether while more than maxUnhealthy Machines are not healthy.
//
// It knows the check's spec, Machines, Nodes and a moment. It refuses to know how they are read, how a Machine is remediated
// (reconcilers/provision), and whose it is to remediate: the caller says which Machines are its own; the others count.
package health
