// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundling is the command `poundlock bundle`. In go a kustomization on disk and flags, out come ConfigMaps on disk, a summary, or a diff.
//
// Non-goals: it decides nothing about manifests, which package bundle does, and it talks to no cluster, and to no network unless --allow-remote is given.
package bundling
