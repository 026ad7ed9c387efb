// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion converts a value between two APIs, field by field. A Table has one Row per field. A Row holds both
// directions, so that they cannot drift apart. A field without a counterpart in the other API is a Row too. Such a Row
// has the reason why the field does not convert, for a person to read.
//
// The input is an object and an Env, which has everything that a conversion needs to know of the cluster, as plain
// values. The output is the converted object, or errors that name paths. A conversion never drops a value silently.
//
// Non-goals:
//   - any kind: see conversion/core
//   - any platform: see conversion/aws and its neighbours
//   - reading the cluster
package conversion
