// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promtool has no code: its module pins Prometheus' promtool, which test/build builds. The tests of alerts have it judge them.
//
// It is a Go module of its own, because Prometheus is built with newer Kubernetes libraries than the product is.
package promtool
