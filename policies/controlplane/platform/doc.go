// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platform describes what a control plane depends on in a cloud: the kind of its providerSpec, which of two that differ
// in JSON mean the same machine, and what a failure domain sets in one.
//
// A platform is a row. A reader that adds one adds a row, and the functions that it names: how its failure domains are read
// from a set and found in the Machines that run, and how its providerSpec is spelled in one way. Where a set has none of
// them, such as failure domains on Power VS, a row has nil.
//
// Non-goals:
//   - the conversion of a providerSpec to Cluster API: package conversion has rows of its own
//   - what is refused: package admission judges
package platform
