// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi pins Cluster API's core manager. It has no code. test/build builds the manager and test/capimanager
// runs it.
//
// It is a Go module of its own, because the manager uses older Kubernetes libraries than the product. The version is the one that the product uses. A test of
// test/build checks that, so the product's types and the controllers in its tests have the same version.
package clusterapi
