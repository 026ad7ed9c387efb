// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gcp converts between a Machine API providerSpec for Google Cloud and Cluster API's GCPMachineSpec. Fields has
// one row per field, and docs/fields/gcp.md is generated from it.
//
// The spec of a GCPMachine is immutable, except for its provider ID, labels and network tags. So a GCPMachine
// round-trips in exactly its own form. Where Cluster API has two forms of one thing and Machine API has one, the
// conversion refuses the other form. Its message names the form to write. An example is no rootDeviceType, and
// pd-standard. A providerSpec may change, and returns with its controllers' defaults.
//
// Non-goals:
//   - the core Machine, but for the few values that one API keeps there and the other in the providerSpec: see
//     conversion/core
//   - asking Google: it resolves no family into an image and looks up no zone
package gcp
