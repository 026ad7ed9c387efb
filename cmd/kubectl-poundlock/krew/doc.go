// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package krew builds what a release publishes for krew, kubectl's plugin manager. `make krew VERSION=v0.1.0` runs it.
//
// In go the source and a version. Out come an archive for each platform, and the manifest with their checksums. The same
// source gives the same bytes.
//
// Non-goals:
//   - uploading a release: the manifest names the addresses that the archives will have
package krew

//go:generate go test . -run ^TestTheManifestIsAsItWas$ -update
