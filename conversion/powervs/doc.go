// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package powervs converts between a Machine API providerSpec for IBM Power Virtual Server and Cluster API's
// IBMPowerVSMachineSpec. Fields has one row per field, and docs/fields/powervs.md is generated from it.
//
// It has types of its own for Cluster API's side (infra.go), because the provider's import a cloud SDK. A test compares
// them with the provider's CRD, leaf by leaf.
//
// Non-goals:
//   - the core Machine, but for the few values that one API keeps there and the other in the providerSpec: see
//     conversion/core
//   - asking IBM Cloud: it resolves no name into an ID and no regular expression into a name
package powervs
