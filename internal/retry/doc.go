// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry says how long a controller waits before it tries again what failed. It knows no kind and no error.
package retry
