// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphere knows how a Machine API providerSpec for vSphere and Cluster API's VSphereMachineSpec say the same: one row per field, in Fields.
// docs/fields/vsphere.md is generated from it. Where the two APIs' controllers make different machines of a field that is absent, the difference is said
// in the field; where a field cannot say it, it is an error. What they make of it is read from the controllers, not from the types' comments.
//
// It refuses to know the core Machine, but for the few values that one API keeps there and the other in the providerSpec, and never asks a vCenter: a path
// is not resolved, and an object's id is not turned into a name.
package vsphere
