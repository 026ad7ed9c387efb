// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package formercore has no code: its module pins the last release of Cluster API that stores its objects as v1beta1. Its manifests are what the
// proof of an upgrade begins
// with.
//
// It is a Go module of its own, since a module can have one version of another, and imports nothing: `go mod tidy` would empty its go.mod.
// `go mod download -json MODULE@EXACT` prints what belongs into its go.sum.
package formercore
