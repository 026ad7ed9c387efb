// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package formercore has no code. Its module pins the last release of Cluster API that stores its objects as v1beta1. The proof of an upgrade begins with the
// manifests of that release.
//
// It is a Go module of its own, because a module can only have one version of another. It imports nothing, so `go mod tidy` would empty its go.mod. `go mod
// download -json MODULE@EXACT` prints what belongs into its go.sum.
package formercore
