// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package numbers knows which numbers in a JSON text would keep whoever reads them busy, and refuses to know what they count.
package numbers
