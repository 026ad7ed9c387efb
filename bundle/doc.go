// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle describes what a provider of Cluster API ships, as a value. The value holds documents in stage order,
// variables, images, labels and the contract. It also makes the ConfigMaps that carry them through a release.
//
// In go the manifests that kustomize rendered (Build) or the ConfigMaps of a release (Unpack, Merge). Out come a Bundle,
// its ConfigMaps (Bundle.Pack), and the documents that an installer applies (Bundle.Render). A Summary lists what was
// dropped and changed. Both programs share one list, Kinds. It decides which kinds are dropped, which are errors, and in
// which stage the rest is applied.
//
//	kustomize ──▶ Decode ──▶ Transformations ──▶ Bundle ──▶ Pack ──▶ ConfigMaps
//	                                               │                    │
//	                                documents ◀── Render ◀── Merge ◀── Unpack
//
// Non-goals:
//   - running kustomize, or reading files and environment variables
//   - reading a cluster (discovery, stored versions, readiness): see reconcilers/install
//   - evaluating variables during a build: the values belong to a cluster
package bundle
