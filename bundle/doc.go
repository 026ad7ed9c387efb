// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle describes what a provider of Cluster API contains, as a value (Bundle): its documents in the order of their stages, its variables, images,
// labels and contract. It also makes the ConfigMaps in which a release carries a bundle.
//
// Build makes a Bundle of manifests that kustomize rendered. Unpack and Merge make a Bundle of the ConfigMaps of a release. Bundle.Pack makes the ConfigMaps,
// and Bundle.Render makes the documents that an installer applies. A Summary lists what was dropped and changed. The program that builds a bundle and the one
// that installs it share one list, Kinds. It decides which kinds are dropped, which are errors, and in which stage the other kinds are applied.
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
