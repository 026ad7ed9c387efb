// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fields decides the write that gives an object the wanted fields, and removes those fields of the mirror that
// are no longer wanted.
//
// The input is a pairs.State, the wanted object, and the live object. The output is a creation, an apply, or a change
// of the owners of fields; nil if nothing differs. If a MachineSet of Cluster API is authoritative, the fields that it
// propagates stay as they are.
//
// Non-goals:
//   - what is wanted: see mirroring/twin
//   - what managed fields mean: see policies/ownership
package fields
