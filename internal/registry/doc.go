// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry registers metrics in a process in which more than one manager may run.
package registry
