// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion decides the writes of a step of a deletion: which object is deleted, detached, released or forgotten
// next.
//
// In go a pairs.State and a step. Out comes a write, or nil where there is nothing to do but to wait. Asked turns the
// State into what the rules of a deletion are asked.
//
// Non-goals:
//   - the steps, and their order: see policies/authority
package deletion
