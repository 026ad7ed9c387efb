// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphere converts between a Machine API providerSpec for vSphere and Cluster API's VSphereMachineSpec. Fields
// has one row per field, and docs/fields/vsphere.md is generated from it.
//
// For some absent fields, the two APIs' controllers make different machines. The conversion then writes the value that the source's controllers use into the
// target's field. If the target cannot express this value, the conversion reports an error. The rows follow the controllers' code, not the comments of the
// types.
//
// Non-goals:
//   - the core Machine (see conversion/core), except for the few values that one API has in the core Machine and the
//     other in the providerSpec
//   - asking a vCenter: no path is resolved, and no object's ID is turned into a name
package vsphere
