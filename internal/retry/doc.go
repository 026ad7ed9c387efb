// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry computes how long a controller waits before it retries after a failure.
//
// Non-goals:
//   - kinds and errors
package retry
