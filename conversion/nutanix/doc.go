// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nutanix converts between a Machine API providerSpec for Nutanix and Cluster API's NutanixMachineSpec. Fields
// has one row per field, and docs/fields/nutanix.md is generated from it.
//
// The package has types of its own for Cluster API's side (infra.go), because the provider's types import the clients of Prism Central. A test compares the
// package's types with the provider's CRD, leaf by leaf.
//
// Non-goals:
//   - the core Machine (see conversion/core), except for the few values that one API has in the core Machine and the
//     other in the providerSpec
//   - asking Prism Central: no name is resolved into a UUID
package nutanix
