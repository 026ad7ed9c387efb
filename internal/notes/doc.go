// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notes keeps what is told in an event to the length that the API server takes.
package notes
