// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference explains, without a cluster, what Poundlock's answers are about: its rules, the reasons of its conditions, and the
// fields of the conversion. Nothing is told here: rules explain themselves in their rows, fields in theirs, and reasons in the runbooks.
//
// It refuses to know how an explanation is shown.
package reference
