// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation decides how providers of Cluster API are installed in a cluster and stay installed. It decides
// which ConfigMaps make a provider, the order of its objects, and what each stage waits for. It also decides who owns
// an object, which differences are drift, which objects to prune, and what the ClusterOperator shows.
//
// The input is the ConfigMaps of a release, the Infrastructure, and live objects. The output is a Selection, the
// Objects to apply, a sentence about what each gate waits for ("" if the gate is open), the Items to prune, and the
// conditions of the ClusterOperator (Pass.Conditions).
//
//	ConfigMaps ──▶ Select ──▶ Prepare ──▶ Objects ──▶ stage 1 … stage 10 ──▶ prune
//	                  │ problem                          │ a gate waits
//	                  └──▶ the last good content         └──▶ the next pass begins here
//
// Non-goals:
//   - reading, writing and the clock: see reconcilers/install
//   - the meaning of a provider's manifests: see bundle
package installation
