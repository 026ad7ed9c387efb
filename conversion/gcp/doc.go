// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gcp converts between a Machine API providerSpec for Google Cloud and Cluster API's GCPMachineSpec. Fields has
// one row per field, and docs/fields/gcp.md is generated from it.
//
// The spec of a GCPMachine is immutable, except for its provider ID, labels and network tags. So a GCPMachine round-trips in exactly its own form. If
// Cluster API has two forms of one thing and Machine API has one, the conversion accepts one of the two forms and refuses the other, with a message that names
// the form to write. For example, an absent rootDeviceType means pd-standard, which must be written. A providerSpec may change, and comes back from Cluster API
// with the defaults of Machine API's controllers.
//
// Non-goals:
//   - the core Machine (see conversion/core), except for the few values that one API has in the core Machine and the
//     other in the providerSpec
//   - asking Google: no image family is resolved into an image, and no zone is looked up
package gcp
