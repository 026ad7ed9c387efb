// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providers has no code: its module pins providers of Cluster API of which Poundlock compiles nothing, because their API packages
// drag in a cloud's whole SDK. Their modules carry the CRDs that tests hold Poundlock's own types to, and
// install, and the manifests that tests bundle.
//
// It is a Go module of its own, so that none of that comes into the product's module graph. No package of theirs is imported here either, so
// `go mod tidy` would empty its go.mod: `go get MODULE@EXACT` moves a version, `go mod download MODULE` writes its checksums.
package providers
