// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instanceid compares the IDs of instances, which controllers and clouds spell in different ways.
//
// It takes IDs from spec.providerID and from the providers' statuses. It returns the part that all spellings of an ID share.
//
// Non-goals:
//   - whether an instance exists, and whose it is
package instanceid
