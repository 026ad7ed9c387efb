// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle describes what a provider of Cluster API ships, as a value: documents in stage order, variables, images, labels, the contract, and the
// ConfigMaps that carry them through a release.
//
// In go the manifests that kustomize rendered (Build) or the ConfigMaps of a release (Unpack, Merge). Out come a Bundle with a Summary of what was dropped
// and changed, the ConfigMaps (Bundle.Pack), and the documents that an installer applies (Bundle.Render). One list, Kinds, decides for both programs which
// kinds are dropped, which are errors, and in which stage the rest is applied.
//
//	kustomize ──▶ Decode ──▶ Transformations ──▶ Bundle ──▶ Pack ──▶ ConfigMaps
//	                                               │                    │
//	                                documents ◀── Render ◀── Merge ◀── Unpack
//
// Non-goals:
//   - It does not run kustomize, and reads no file and no environment variable.
//   - It has no client. What is in a cluster (discovery, stored versions, readiness) is for the installer to read.
//   - It does not evaluate variables when it builds: the values belong to a cluster.
package bundle
