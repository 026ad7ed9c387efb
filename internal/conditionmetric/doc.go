// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditionmetric publishes a metric that shows for each object whether a condition is False, and since when.
//
// A Gauge takes objects with conditions, and sets the samples of a gauge.
//
// Non-goals:
//   - any condition by name, and the causes that make it False
package conditionmetric
