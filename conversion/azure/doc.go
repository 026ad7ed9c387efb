// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package azure knows how a Machine API providerSpec for Azure and Cluster API's AzureMachineSpec say the same: one row
// per field, in Fields. docs/fields/azure.md is generated from it.
//
// An AzureMachine cannot be changed once it is there, so a spec that goes to Machine API and comes back says exactly what
// it said, but for what the AzureMachine's own webhook fills in. What the two APIs fill in differently (a data disk's
// caching, boot diagnostics, an evicted spot machine) is said explicitly on the way.
//
// It refuses to know the core Machine, but for the few values that one API keeps there and the other in the
// providerSpec, and never asks Azure: no image is looked up, no id resolved.
package azure
