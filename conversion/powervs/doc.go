// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package powervs converts between a Machine API providerSpec for IBM Power Virtual Server and Cluster API's
// IBMPowerVSMachineSpec. Fields has one row per field, and docs/fields/powervs.md is generated from it.
//
// The package has types of its own for Cluster API's side (infra.go), because the provider's types import a cloud SDK. A test compares the package's types with
// the provider's CRD, leaf by leaf.
//
// Non-goals:
//   - the core Machine (see conversion/core), except for the few values that one API has in the core Machine and the
//     other in the providerSpec
//   - asking IBM Cloud: no name is resolved into an ID, and no regular expression into a name
package powervs
