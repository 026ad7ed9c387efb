// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core knows Machines, MachineSets and MachineHealthChecks: how the Machine API's and Cluster API's say the
// same, labels, annotations, spec and status. What stands in a providerSpec it leaves to the Env's Platform.
//
// It converts content only. It refuses to know which API is authoritative for an object and what follows from it:
// ownerReferences, finalizers, the pause annotation and the fields about authority are left alone in both directions.
package core
