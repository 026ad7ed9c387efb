// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metricsregistry registers metrics in a process in which several managers may run, at the same time or one after the other. Clear resets the metrics
// between two managers.
package metricsregistry
