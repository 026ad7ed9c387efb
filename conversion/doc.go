// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion converts a value between two APIs, field by field. A Table has one Row per field. A Row holds both
// directions, so that they cannot drift apart. A field without a counterpart in the other API is a Row too, with the
// reason that a person reads.
//
// In go an object and an Env, which has as values whatever a conversion needs of the cluster. Out come the converted
// object, or errors that name paths. It never drops a value silently.
//
// Non-goals:
//   - any kind: see conversion/core
//   - any platform: see conversion/aws and its neighbours
//   - reading the cluster
package conversion
