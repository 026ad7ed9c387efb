// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundling is the command `poundlock bundle`.
//
// In go a kustomization on disk and flags. Out come ConfigMaps on disk, a summary, or a diff.
//
// Non-goals:
//   - deciding about manifests: see bundle
//   - any cluster, and any network unless --allow-remote is given
package bundling
