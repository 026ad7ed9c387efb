// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditionlist reads and sets conditions in status.conditions of an unstructured object. The Machine API, Cluster API and OpenShift's configuration
// API each have their own Go type for a condition. In a list of JSON values, the members that only one of these types has are kept.
//
// Non-goals:
//   - which condition an object has, and its content
package conditionlist
