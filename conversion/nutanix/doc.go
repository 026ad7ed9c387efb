// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nutanix converts between a Machine API providerSpec for Nutanix and Cluster API's NutanixMachineSpec. Fields
// has one row per field, and docs/fields/nutanix.md is generated from it.
//
// It has types of its own for Cluster API's side (infra.go), because the provider's import the clients of Prism Central.
// A test compares them with the provider's CRD, leaf by leaf.
//
// Non-goals:
//   - the core Machine, but for the few values that one API keeps there and the other in the providerSpec: see
//     conversion/core
//   - asking Prism Central: it resolves no name into a UUID
package nutanix
