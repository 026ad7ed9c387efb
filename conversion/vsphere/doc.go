// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphere converts between a Machine API providerSpec for vSphere and Cluster API's VSphereMachineSpec. Fields
// has one row per field, and docs/fields/vsphere.md is generated from it.
//
// The two APIs' controllers make different machines of some absent fields. The conversion then writes the difference
// into the field. Where the field cannot hold it, the conversion returns an error. The rows follow the controllers'
// code, not the comments of the types.
//
// Non-goals:
//   - the core Machine, but for the few values that one API keeps there and the other in the providerSpec: see
//     conversion/core
//   - asking a vCenter: it resolves no path, and turns no object's ID into a name
package vsphere
