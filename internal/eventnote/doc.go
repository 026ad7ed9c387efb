// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eventnote shortens the note of an event to the length that the API server accepts.
package eventnote
