// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaling decides what a MachineSet of the Machine API does about its Machines.
//
// PlanFor takes a set, Machines and a seed. It returns how many Machines to create, which to delete and which to adopt. Count takes a set, Machines, Nodes and
// the current time. It returns the numbers of the set's status.
//
// A Machine is the set's if it matches the selector, the set controls it, and it is not being deleted. The set adopts a Machine that matches and has no
// controller, if the Machine API is authoritative for it. For everything else, it makes no difference which API is authoritative for a Machine. A Machine that
// no longer matches keeps the set as its controller and does not count. The set creates another in its place.
//
// Non-goals:
//   - reading objects, and how fresh they are: before it acts, machine/controller reads again and decides again
package scaling
