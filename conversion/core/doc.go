// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core converts Machines, MachineSets and MachineHealthChecks between Machine API and Cluster API: labels,
// annotations, spec and status.
//
// Non-goals:
//   - the content of a providerSpec: the Env's Platform converts it
//   - which API is authoritative, and what follows from that: in both directions the conversion ignores
//     ownerReferences, finalizers, the pause annotation and the fields about authority
package core
