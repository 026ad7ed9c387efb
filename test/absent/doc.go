// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package absent tests Poundlock's own binary in a cluster that lacks something that it watches. The missing part is
// installed later, or is uninstalled while it runs. The package has no other code.
package absent
