// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promtool has no code. Its module pins Prometheus' promtool, which test/build builds. The tests of alerts run it.
//
// It is a Go module of its own, because Prometheus uses newer Kubernetes libraries than the product.
package promtool
