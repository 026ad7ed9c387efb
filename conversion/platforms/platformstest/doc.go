// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platformstest lists the kits of the platforms. It has one line for each, in the order of package platforms.
package platformstest
