// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package absent has no code but tests: Poundlock's own binary in a cluster in which something that it watches is not installed, is installed later, or is
// uninstalled while it runs.
package absent
