// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health decides which Machines a MachineHealthCheck of the Machine API finds unhealthy, and which of them it
// may remediate.
//
// Judge takes the check's spec, Machines, Nodes and the current time. It returns the unhealthy Machines and those to remediate.
//
// A Machine is unhealthy in each of these cases:
//
//   - Its annotation MarkAnnotation asks for remediation.
//   - It has failed.
//   - Its Node is gone.
//   - It has no Node, and its creation and last change of phase are longer ago than the startup timeout.
//   - A condition of its Node has had the check's status for as long as the check requires.
//
// A Machine whose fault has not lasted long enough, or that is being deleted, is not healthy either. Remediation stops while more than maxUnhealthy Machines
// are not healthy.
//
// Non-goals:
//   - reading objects, and remediating a Machine: see machine/controller
//   - which Machines the check may remediate: the caller passes that, and the other Machines still count
package health
