// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providers pins providers of Cluster API. It has no code. Poundlock compiles nothing of these providers,
// because their API packages import a cloud's whole SDK. Their modules carry manifests that tests bundle and install.
// They also carry the CRDs that tests install, and compare Poundlock's own types with.
//
// It is a Go module of its own, so that none of that comes into the product's module graph. It imports no package of
// theirs either, so `go mod tidy` would empty its go.mod. `go get MODULE@EXACT` moves a version, and `go mod download
// MODULE` writes its checksums.
package providers
