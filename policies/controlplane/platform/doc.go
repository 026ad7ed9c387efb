// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platform describes what a control plane depends on in a cloud: the kind of its providerSpec, whether two providerSpecs
// that differ in JSON mean the same machine, and what a failure domain sets in a providerSpec.
//
// A platform is a row. To add a platform, add a row and the functions that the row names. These read the platform's failure
// domains from a set, find them in the Machines that run, and write a providerSpec in one spelling. If a platform lacks one
// of these, as Power VS lacks failure domains, its row has nil for it.
//
// Non-goals:
//   - the conversion of a providerSpec to Cluster API: package conversion has rows of its own
//   - what is refused: package admission judges
package platform
