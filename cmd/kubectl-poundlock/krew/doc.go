// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package krew makes what a release hands to krew, kubectl's plugin manager: an archive for each platform, the same bytes for the same
// source, and the manifest with their checksums. `make krew VERSION=v0.1.0` runs it.
//
// It refuses to know how a release is uploaded: the manifest names the addresses that the archives will have.
package krew

//go:generate go test . -run ^TestTheManifestIsAsItWas$ -update
