// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fields decides the write that gives an object the fields that are wanted of it, and no others of the mirror's.
//
// In go a pairs.State, the wanted object, and the one that is there. Out comes a creation, an apply, or a change of who
// owns which field; nil where nothing differs. A MachineSet of Cluster API that is authoritative keeps what it propagates.
//
// Non-goals:
//   - what is wanted: see mirroring/twin
//   - what managed fields mean: see policies/ownership
package fields
