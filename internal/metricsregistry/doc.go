// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metricsregistry registers metrics in a process in which more than one manager may run, at a time or one
// after the other. Clear is for the time between two of them.
package metricsregistry
