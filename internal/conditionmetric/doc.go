// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditionmetric shows in a metric, object by object, which conditions are False, and since when.
//
// In go objects with conditions. Out come samples of a gauge.
//
// Non-goals:
//   - any condition by name, and the causes that make it False
package conditionmetric
