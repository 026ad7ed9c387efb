// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build tells which build of Poundlock a process is: on a line, and as a metric.
package build
