// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package presence finds out whether Poundlock runs in a cluster, and how.
//
// In goes a cluster. Out come whether its webhooks answer, since when nobody leads, and its image, flags and feature
// gate. What the user may not read is left out.
//
// Non-goals:
//   - starting or configuring Poundlock
package presence
