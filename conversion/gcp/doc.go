// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gcp knows how a Machine API providerSpec for Google Cloud and Cluster API's GCPMachineSpec say the same: one row
// per field, in Fields. docs/fields/gcp.md is generated from it.
//
// Cluster API's provider lets nobody change the spec of a GCPMachine, but for its provider id, labels and network tags. So
// what a GCPMachine says comes back in the very form that it had: where Cluster API has two forms of one thing and Machine
// API has one (no rootDeviceType, and pd-standard), the other form is refused with the one to write. A providerSpec may
// change, and comes back saying what its controllers would have filled in.
//
// It refuses to know the core Machine, but for the few values that one API keeps there and the other in the
// providerSpec, and never asks Google: a family is not resolved into an image, a zone not looked up.
package gcp
