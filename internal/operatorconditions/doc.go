// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operatorconditions sets conditions of a ClusterOperator by library-go's rules, and reports whether there is anything to write.
//
// Non-goals:
//   - which conditions a ClusterOperator has, and their content
package operatorconditions
