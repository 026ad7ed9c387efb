// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory collects the objects that the plugin works on.
//
// In go a cluster (in pages), files, folders, a must-gather or standard input. Out come pairs, each with its objects put
// together, and a description of their cluster for a conversion.
//
// Non-goals:
//   - what may be done with the objects: see policies/authority and conversion
package inventory
