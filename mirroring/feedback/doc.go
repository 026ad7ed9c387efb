// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feedback decides what is copied from a mirror back to its authoritative object.
//
// Some writers know only one API: the cluster autoscaler, its operator, and etcd's operator. While the other API is
// authoritative, they write to a mirror (authority.Grants). The input is a pairs.State. The output is the write that
// copies their changes, or nil. Managed fields, or a record on the mirror, prove who wrote.
//
// Non-goals:
//   - who may write to a mirror: see policies/authority
package feedback
