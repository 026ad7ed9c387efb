// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package azure converts between a Machine API providerSpec for Azure and Cluster API's AzureMachineSpec. Fields has one
// row per field, and docs/fields/azure.md is generated from it.
//
// The spec of an AzureMachine is immutable. So a spec that converts to Machine API round-trips unchanged, except for the
// defaults of the AzureMachine's own webhook. If the two APIs have different defaults, the conversion writes the value
// explicitly. Examples are a data disk's caching, boot diagnostics and an evicted spot machine.
//
// Non-goals:
//   - the core Machine (see conversion/core), except for the few values that one API has in the core Machine and the
//     other in the providerSpec
//   - asking Azure: no image is looked up, and no ID is resolved
package azure
