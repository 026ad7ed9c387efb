// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion decides the writes of a step of a deletion: which object is deleted, detached, released or left to
// act on its own (Forget) next.
//
// The input is a pairs.State and a step. The output is a write, or nil if there is nothing to do but to wait. Asked
// returns the State in the form that the rules of a deletion need.
//
// Non-goals:
//   - the steps, and their order: see policies/authority
package deletion
