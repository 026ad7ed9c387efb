// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaling decides what a MachineSet of the Machine API does about its Machines.
//
// PlanFor takes a set, Machines and a seed. It returns how many Machines to create, which to delete and which to adopt. Count takes a set, Machines, Nodes and
// the current time. It returns the numbers of the set's status.
//
// A Machine is the set's if it matches the selector, the set controls it, and it is not being deleted. The set adopts a
// Machine that matches and that nobody controls. A Machine that no longer matches stays the set's property and does not
// count. The set creates another in its place. Which API is authoritative for a Machine makes no difference here.
//
// Non-goals:
//   - reading objects, and how fresh they are: before it acts, machine/controller reads again and decides again
package scaling
