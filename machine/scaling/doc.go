// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaling decides what a MachineSet of the Machine API does about its Machines: how many it makes, which it gives up, which it takes
// in; and the numbers of its status.
//
// A Machine is the set's if it matches the selector, the set controls it, and it is not being deleted. One that matches and that nobody controls
// is taken in. One that does not match any more is neither counted nor let go: the set makes another in its place, and it stays the set's
// property, as ever. Which API is authoritative for a Machine makes no difference here.
//
// It knows a set, Machines, Nodes, a moment and a seed. It refuses to know how they are read, and how up to date they are: a shell
// that is about to act asks again with what it has just read (reconcilers/provision).
package scaling
