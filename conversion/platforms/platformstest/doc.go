// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platformstest lists the kits of the platforms, as package platforms lists the platforms: a line for each, in the same order.
package platformstest
