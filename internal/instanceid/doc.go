// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instanceid compares the IDs of instances, which not everybody spells alike.
//
// IDs go in, as spec.providerID and the providers' statuses have them. What their spellings have in common comes out.
//
// Non-goals:
//   - whether an instance exists, and whose it is
package instanceid
