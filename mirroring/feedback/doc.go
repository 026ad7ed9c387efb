// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feedback decides what is carried from a mirror back to its authoritative object.
//
// Some writers know one API only: the cluster autoscaler, its operator, and etcd's operator. While the other API is
// authoritative, they write to a mirror (authority.Grants). In goes a pairs.State. Out comes the write that follows them,
// or nil. Managed fields, or a record on the mirror, prove who wrote.
//
// Non-goals:
//   - who may write to a mirror: see policies/authority
package feedback
