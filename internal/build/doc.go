// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build reports which build of Poundlock a process is: as a line of text, and as a metric.
package build
