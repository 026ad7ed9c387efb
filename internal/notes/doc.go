// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notes shortens the note of an event to the length that the API server accepts.
package notes
