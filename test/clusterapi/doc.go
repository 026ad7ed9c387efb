// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi has no code: its module pins Cluster API's core manager, which test/build builds and test/coremanager runs.
//
// It is a Go module of its own, because the manager is built with older Kubernetes libraries than the product is. The version
// is the product's (a test of test/build holds the two equal), so that the types that Poundlock is compiled with and the controllers that it is tried
// against are the same.
package clusterapi
