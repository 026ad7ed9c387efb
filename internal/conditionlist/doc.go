// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditionlist reads and sets conditions in status.conditions of an unstructured object. Machine API, Cluster API and OpenShift's configuration each
// have a type of condition of their own; in a list as JSON has it, members that only one of them has are kept.
//
// Non-goals:
//   - which condition an object has, and its content
package conditionlist
