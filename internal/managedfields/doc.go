// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managedfields reads and writes the fields of an entry of metadata.managedFields as the API server does: as sets of paths.
//
// Non-goals:
//   - which manager should own which fields: see policies/ownership and installation
package managedfields
