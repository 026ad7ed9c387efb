// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi11 has no code: its module pins an older release of Cluster API's core manager, which `make proof WHAT=private` runs behind the proxy.
//
// It is a Go module of its own for the same reason as test/clusterapi.
package clusterapi11
